#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# There is never a stale sum: its line is withdrawn before the first write
# reaches the plugin, and published again when the writer has disconnected.

. "$(dirname "$0")/filter-functions.sh"
requires_nbdkit --filter=pause

make_image "$dir/disk"

for change in 'h.pwrite(b"x", 0)' 'h.zero(4096, 0)' 'h.trim(65536, 65536)'; do
  rm -f "$pause"
  serve --filter=pause file "$dir/disk" pause-control="$pause" \
        blkhash-file="$sums"
  copy "$uri" null:
  wait_for_sum "$dir/disk"
  client "" "import threading
before = content('$dir/disk')
t = threading.Thread(target=lambda: $change)
pause()
t.start()
wait_until(lambda: content('$sums') == b'')
assert content('$dir/disk') == before, 'the plugin was called'
resume()
t.join()
assert content('$sums') == b''
h.flush()
assert content('$sums') == b'', 'the line is back too soon'"
  wait_for_sum "$dir/disk"
  stop
done

# A client reads other data than the sum was made of, because the disk was
# changed from outside: the sum is withdrawn.
cp "$dir/disk" "$dir/before"
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/disk"
write_data "$dir/disk" 3000000 100000
copy "$uri" "$dir/copy"
cmp "$dir/copy" "$dir/disk" || fail "the copy differs"
wait_until all_disconnected
! has_line "$(reference "$dir/before")  -" || fail "a stale sum"
stop

# It is withdrawn for all names of the disk.  The other name gets its sum again
# only after the filter has read that range again.
cp "$dir/before" "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums"
client a 'h.pread(h.get_size(), 0)'
client b 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" a
wait_for_sum "$dir/disk" b
write_data "$dir/disk" 3000000 100000
client a 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" a
wait_for_line '# incomplete b: a client of another export reads different data'
client b 'h.pread(1, 0)'
wait_until all_disconnected
! has_line "$(reference "$dir/before")  b" || fail "a stale sum of b"
client b 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" b
stop
wait_for_sum "$dir/disk" b

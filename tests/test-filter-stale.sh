#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A stale sum is never there to be believed: the line goes before the first
# write reaches the plugin, and comes back when the writer has left.

. "$(dirname "$0")/filter-functions.sh"
requires delay_can_be_read

make_image "$dir/disk"

for change in 'h.pwrite(b"x", 0)' 'h.zero(4096, 0)' 'h.trim(65536, 65536)'; do
  serve --filter=delay file "$dir/disk" delay-write=500ms delay-zero=500ms \
        delay-trim=500ms blkhash-file="$sums"
  copy "$uri" null:
  sum_comes "$dir/disk"
  client "" "import threading
before = open('$dir/disk', 'rb').read()
t = threading.Thread(target=lambda: $change)
t.start()
time.sleep(0.25)
assert open('$sums').read() == '', 'the line is still there'
assert open('$dir/disk', 'rb').read() == before, 'the write was too fast'
t.join()
assert open('$sums').read() == ''
h.flush()
time.sleep(0.1)
assert open('$sums').read() == '', 'the line is back too soon'"
  sum_comes "$dir/disk"
  stop
done

# What a client reads is not what was there when the sum was made, because
# something else changed it: that sum is not left for it to be believed.
cp "$dir/disk" "$dir/before"
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
sum_comes "$dir/disk"
write_data "$dir/disk" 3000000 100000
copy "$uri" "$dir/copy"
cmp "$dir/copy" "$dir/disk" || fail "the copy differs"
sleep 0.2
! has_line "$(reference "$dir/before")  -" || fail "a stale sum"
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The disk has another size when it is opened again: the export starts over.

. "$(dirname "$0")/../filter-functions.sh"

truncate -s 4m "$dir/disk"
write_data "$dir/disk" 0 4000000
export dir

# The export starts over.
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/disk"
truncate -s 5000000 "$dir/disk"
run 0 nbdinfo "$uri"
stop
no_sum
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait_until all_disconnected
for size in 3000000 3000001 6m; do
  truncate -s $size "$dir/disk"
  copy "$uri" null:
  wait_for_sum "$dir/disk"
  wait_until all_disconnected
done
stop

# While another client is connected there is no sum; when all have disconnected,
# the export starts over, with any size.
truncate -s 4m "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums"
client "" 'h.pread(h.get_size(), 0)
open("'"$dir"'/disk", "a").truncate(5 << 20)
h2 = connect("")
assert h2.get_size() == 5 << 20
h2.pwrite(b"x", (5 << 20) - 1)
h2.shutdown()'
wait_for_line '# unknown -: its size changed while it was in use'
wait_until all_disconnected
copy "$uri" null:
wait_for_sum "$dir/disk"
client "" 'open("'"$dir"'/disk", "a").truncate(4 << 20)
h2 = connect("")
h2.shutdown()
open("'"$dir"'/disk", "a").truncate(5 << 20)'
wait_until all_disconnected
no_sum
copy "$uri" null:
wait_for_sum "$dir/disk"
stop

# A client that was connected all the time, sent no request, and saw only the
# old size does not invalidate what a newer one has read.
for size in 0 4m; do
  truncate -s $size "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums"
  client "" 'open("'"$dir"'/disk", "a").truncate(5 << 20)
h2 = connect("")
h2.pwrite(b"x" * (5 << 20), 0)
h2.shutdown()
wait_until(lambda: b"blkhash: close\n" in content("'"$log"'"))'
  wait_until all_disconnected
  has_line "$(sum_line "$(reference "$dir/disk")")" || fail "no correct sum:
$(cat "$sums")"
  stop
done

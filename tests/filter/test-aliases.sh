#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Most plugins serve one disk by every name: a write by one name invalidates the
# sum of the other name, so its line is withdrawn, and published again later.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"
truncate -s 8m "$dir/disk"

for change in 'h.pwrite(b"x", 1000000)' 'h.zero(65536, 0)' \
              'h.trim(65536, 131072)'; do
  cp "$dir/image" "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums"
  client a 'h.pread(h.get_size(), 0)'
  client b 'h.pread(h.get_size(), 0)'
  wait_for_sum "$dir/disk" a
  wait_for_sum "$dir/disk" b

  client b "$change"
  wait_for_line '# unknown a: it was changed through another export name'
  wait_for_sum "$dir/disk" b
  # A new client reads the whole disk.  An older client does too, but after a
  # trim its reads prove nothing.
  client a "$change
h.pread(h.get_size(), 0)"
  wait_for_sum "$dir/disk" a
  client a "h2 = connect('b')
h2${change#h}
h2.shutdown()
case = '''$change'''
if 'trim' in case:
    wait_until(lambda: content('$log').count(b'blkhash: close') == 5)
    h.shutdown()
    h = connect('a')
h.pread(h.get_size(), 0)"
  wait_for_sum "$dir/disk" a
  wait_for_sum "$dir/disk" b
  stop
  wait_for_sum "$dir/disk" a
done

# Both names write at once, also to the same block.
serve file "$dir/disk" blkhash-file="$sums"
client a 'h2 = connect("b")
h.pwrite(b"1" * 100000, 0)
h2.pwrite(b"2" * 100000, 50000)
h.pwrite(b"3" * 1000, 120000)
h2.shutdown()'
wait_for_sum "$dir/disk" a
stop
! result_matches "(b) = " || wait_for_sum "$dir/disk" b

# A write by one name is in flight while a write by the other one completes: no
# sum of the old content remains.
requires_nbdkit --filter=pause
serve --filter=pause file "$dir/disk" pause-control="$pause" \
      blkhash-file="$sums"
client a "h2 = connect('b')
h2.pread(h2.get_size(), 0)
pause()
h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(b'4' * 65536)), 0)
def has_come():
    h.poll(10)
    return b'blkhash: pwrite count=65536 ' in content('$log')
wait_until(has_come)
h2.shutdown()
wait_until(lambda: b'blkhash: finalize' in content('$log'))
resume()
while h.aio_in_flight():
    h.poll(-1)"
stop
! result_matches "(b) = " || wait_for_sum "$dir/disk" b

# Writes of one name that are in order count as one change.  Between two of them
# another name connects, for the first time or with another size, and must not
# miss the second write.
for before in 'pass' 'connect("c").shutdown()
wait_until(lambda: b"blkhash: close\n" in content(log))
open(disk, "a").truncate(9 << 20)'; do
  cp "$dir/image" "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums"
  client a "disk, log = '$dir/disk', '$log'
h2 = connect('b')
h2.pread(1, 0)
$before
h.pwrite(b'1' * 65536, 0)
h.flush()
h3 = connect('c')
h3.pread(h3.get_size(), 0)
h.pwrite(b'2' * 65536, 65536)
h.flush()
h3.shutdown()
h2.shutdown()"
  wait_until all_disconnected
  has_line "$(sum_line "$(reference "$dir/disk")" c)" || fail "no correct sum of c:
$(cat "$sums")"
  stop
done

# Distinct exports do not affect each other.
mkdir "$dir/disks"
cp "$dir/image" "$dir/disks/a"
cp "$dir/image" "$dir/disks/b"
serve file dir="$dir/disks" blkhash-distinct-exports=true blkhash-file="$sums"
client a 'h.pread(h.get_size(), 0)'
client b 'h.pwrite(b"x", 1000000)'
wait_for_sum "$dir/disks/b" b
has_line "$(sum_line "$(reference "$dir/disks/a")" a)" ||
  fail "the line of the other export is missing"
stop
wait_for_sum "$dir/disks/a" a

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A directory of 50 disks is copied in parallel from one server, then written in
# parallel: each export has its sum.

. "$(dirname "$0")/../filter-functions.sh"

# nbdkit has 16 threads per connection, and valgrind supports 500.
disks=50
[ -z "$wrapper" ] || disks=10

mkdir "$dir/disks" "$dir/new" "$dir/copies"
for i in $(seq $disks); do
  truncate -s $((i * 20000)) "$dir/disks/$i" "$dir/new/$i"
  write_data "$dir/disks/$i" $((i * 1000)) $((i * 7000))
  echo "$i" | dd of="$dir/disks/$i" bs=100 seek=1 conv=notrunc status=none
done

# all_sums DIRECTORY: the result file has exactly their sums.
all_sums () {
  stop
  (cd "$1" && blksum --tag *) > "$dir/wanted"
  without_header "$sums" | LC_ALL=C sort > "$dir/got.sorted"
  LC_ALL=C sort "$dir/wanted" | diff - "$dir/got.sorted" ||
    fail "the result file differs"
  prints_sum "$(reference "$1/$disks")" blksum "$1/$disks"
}

# in_parallel COMMAND: runs it for each disk, whose number is $i.
in_parallel () {
  running=
  for i in $(seq $disks); do
    eval "$1" &
    running="$running $!"
  done
  for i in $running; do
    wait "$i" || fail "a copy failed"
  done
}

serve file dir="$dir/disks" blkhash-file="$sums"
in_parallel 'nbdcopy "nbd+unix:///$i?socket=$socket" "$dir/copies/$i"'
diff -r "$dir/disks" "$dir/copies" || fail "the copies differ"
all_sums "$dir/disks"

# Each export that is written is a disk of its own, which a parameter must say.
serve file dir="$dir/new" blkhash-distinct-exports=true blkhash-file="$sums"
in_parallel 'nbdcopy "$dir/disks/$i" "nbd+unix:///$i?socket=$socket"'
diff -r "$dir/disks" "$dir/new" || fail "the copies differ"
all_sums "$dir/disks"

# Without a result file each sum is printed once, though each end of an export
# writes a new version.
serve file dir="$dir/disks"
for i in 1 2 1; do
  nbdcopy "nbd+unix:///$i?socket=$socket" "$dir/copies/$i"
done
stop
grep '^blk-' "$log" | LC_ALL=C sort > "$dir/got"
(cd "$dir/disks" && blksum --tag 1 2) | LC_ALL=C sort | diff - "$dir/got" ||
  fail "printed: $(cat "$dir/got")"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Unallocated blocks of a vhdx are not read, although qemu-nbd reports no block
# status for them.  The sum is that of the data that qemu reads, for all values
# in the block allocation table.

. "$(dirname "$0")/../functions.sh"
requires_qemu

edit () { "$PYTHON" "$abs_top_srcdir/tests/blksum/vhdx-edit.py" "$@"; }
through_qemu () { BLKSUM_DIRECT=0 blksum "$@"; }

# number KEY: prints the number from the last JSON.
number () {
  sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$dir/stdout"
}

# reads_at_most BYTES FILE: the rest of the disk is counted as holes.
reads_at_most () {
  run 0 blksum --output=json "$2"
  read_bytes=$(($(number data-bytes) + $(number zero-bytes)))
  [ $read_bytes -le $1 ] || fail "read $read_bytes bytes of $2, not $1"
  [ $((read_bytes + $(number hole-bytes))) = "$(number size)" ] ||
    fail "the parts do not add up to the size"
}

# ---- Images of qemu-img ----

truncate -s 24m "$dir/raw"
write_data "$dir/raw" 3145728 1000000
write_zeros "$dir/raw" 8388608 1048576
write_data "$dir/raw" 17000000 100000
write_data "$dir/raw" 25165312 512
sum=$(reference "$dir/raw")

# converted BYTES OPTION...: at most BYTES of such an image are read.
converted () {
  bytes=$1
  shift
  rm -f "$dir/image"
  qemu-img convert -f raw -O vhdx "$@" "$dir/raw" "$dir/image"
  for options in "" "-f vhdx" "-U" "--no-extents" "-c" "-t 1" "-t 7"; do
    every 2 5 || continue
    prints_sum "$sum" blksum $options "$dir/image"
  done
  prints_sum "$sum" through_qemu "$dir/image"
  reads_at_most $bytes "$dir/image"
}
converted 6291456 -o block_size=1m
converted 6291456 -o block_size=1m,block_state_zero=off
converted 8388608 -o block_size=2m,log_size=3m
converted 25165824 -o block_size=16m
converted 25165824 -o block_size=256m
converted 25165824 -o subformat=fixed
converted 25165824 -o subformat=fixed,block_size=1m
truncate -s 25165312 "$dir/raw"
sum=$(reference "$dir/raw")
converted 25165312 -o subformat=fixed,block_size=8m
converted 25165312

# More bytes after the last table or block do no harm.
head -c 100 "$dir/raw" >> "$dir/image"
prints_sum "$sum" blksum "$dir/image"
prints_sum "$sum" through_qemu "$dir/image"

# A fixed vhdx has no unallocated blocks, but its file is a hole.
for options in "" "-o subformat=fixed" "-o block_state_zero=off" \
               "-o block_size=256m"; do
  rm "$dir/image"
  qemu-img create -q -f vhdx $options "$dir/image" 20g
  reads_at_most 0 "$dir/image"
done
rm "$dir/image"
qemu-img create -q -f vhdx "$dir/image" 0
prints_sum "$(reference /dev/null)" blksum "$dir/image"

# ---- More than one chunk ----

# After 4 GiB the table has an entry that is for no block.
truncate -s 9g "$dir/large"
for offset in 0 1000000 4294901760 4294967296 4563402752 8589900000 9663600000
do
  write_data "$dir/large" $offset 66000
done
large=$(reference "$dir/large")
for size in 1m 32m 256m; do
  rm -f "$dir/image"
  qemu-img convert -f raw -O vhdx -o block_size=$size "$dir/large" \
    "$dir/image"
  for entry in 0 0x10000002 0x800006 0xfffffffffff00007; do
    every 1 3 || continue
    edit "$dir/image" bitmap 0 $entry
    edit "$dir/image" bitmap 1 $entry
    prints_sum "$large" blksum "$dir/image"
  done
done

# As the backing file of a qcow2.
qemu-img create -q -f qcow2 -F vhdx -b "$dir/image" "$dir/overlay" 9g
prints_sum "$large" blksum -f qcow2 "$dir/overlay"
rm "$dir/image" "$dir/large" "$dir/overlay"

# ---- Values in the table ----

qemu-img convert -f raw -O vhdx -o block_size=1m "$dir/raw" "$dir/good"

# edited ARGUMENT...: $dir/image is the good image with one change.
edited () {
  echo "+ vhdx-edit.py $*"
  cp "$dir/good" "$dir/image"
  edit "$dir/image" "$@"
}

# as_qemu_reads: the sum is that of the data that qemu reads.
as_qemu_reads () {
  qemu-img convert -f vhdx -O raw "$dir/image" "$dir/seen"
  truncate -s 25165312 "$dir/seen"
  seen=$(reference "$dir/seen")
  prints_sum "$seen" blksum "$dir/image"
  prints_sum "$seen" through_qemu "$dir/image"
}

# refuses_image REGEX COMMAND: with one line or several, if the error is that of
# qemu.
refuses_image () {
  wanted=$1
  shift
  run 2 "$@" "$dir/image"
  [ ! -s "$dir/stdout" ] || fail "printed a sum: $*"
  says_of "$dir/image"
  grep -q -e "$wanted" "$dir/stderr" || fail "no error matches '$wanted'"
}

no_sum () {
  refuses_image "$1" blksum
  refuses_image "$1" through_qemu
}

for state in 0 1 2 3 5 6; do
  edited block 3 $state
  as_qemu_reads
done
edited block 3 4
no_sum "block 3 has state 4"
edited block 3 7
no_sum "block 3 is partly in a parent"
edited block 2 6 0
no_sum "block 2 has state 6 at offset 0"
edited block 2 6 0x100000000000
no_sum "a block .*passes the end"
edited block 23 6 0xfffffffffff00000
no_sum "a block .*passes the end"
edited block 2 6 0x200000
no_sum "VHDX region .*overlaps"
# Two blocks at one offset, and bits that are ignored.
first=$((0x800000))
edited block 2 6 $first
as_qemu_reads
edited block 3 0xffffe
as_qemu_reads
# "-" does not change the state or the offset.
edited block 3 - -
cmp "$dir/good" "$dir/image" || fail "an unchanged entry was changed"
edited block 3 2
mv "$dir/image" "$dir/unmapped"
edited block 3 2 -
cmp "$dir/unmapped" "$dir/image" || fail "an edit of the state changed the offset"

edited item flags 1
as_qemu_reads
edited item flags 2
no_sum "has a parent"
edited item size 25161728
edit "$dir/image" item sector 4096
no_sum "sectors of 4096 bytes, which qemu cannot read"
edited item sector 0
no_sum "metadata is corrupt"
edited item size 25165313
no_sum "metadata is corrupt"
edited item size 0x400000000200
no_sum "metadata is corrupt"
edited item size 0xfffffffffffffe00
no_sum "metadata is corrupt"
edited item size 0x3fffffffffff
no_sum "metadata is corrupt"
edited item block-size 0x20000000
no_sum "metadata is corrupt"
edited item block-size 0
no_sum "metadata is corrupt"
edited bat 0x200000 8
no_sum "table is too small for 24 blocks"
edited bat 0x200008 0x100000
no_sum "region table is corrupt"
# A table that qemu would read into memory as a whole.
edited bat 0x40000000 0xfff00000
truncate -s 8g "$dir/image"
no_sum "region table is corrupt"

# ---- The log ----

# The table of the image is outdated until qemu-img has replayed the log.
edited log 3
no_sum "log that needs to be replayed"
qemu-img check -q -f vhdx -r all "$dir/image" > /dev/null
as_qemu_reads
[ "$got_sum" != "$sum" ] || fail "the log was not replayed"
edited old-log
as_qemu_reads

# ---- Truncated images ----

size=$(stat -c %s "$dir/good")
for cut in 512 65536 131072 196608 200704 262144 1048576 2097152 2097664 \
           3145216 3145728 3211264 3211776 $first $((first + 512)) \
           $((size / 2)) $((size - 1048576)) $((size - 512)) $((size - 1)); do
  every 1 3 || continue
  head -c $cut "$dir/good" > "$dir/image"
  no_sum "$dir/image: "
done

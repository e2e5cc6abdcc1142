#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum interprets the state in the header of a qcow2: internal snapshots do
# not change the sum, a dirty image is read, and corrupt images and later
# versions are refused.

. "$(dirname "$0")/../functions.sh"
requires_qemu

# set_byte FILE OFFSET OCTAL: writes one byte.
set_byte () {
  printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

make_image "$dir/raw"
sum=$(reference "$dir/raw")

# Snapshots before and after the last write.
requires_program qemu-io
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
cp "$dir/qcow2" "$dir/original"
qemu-img snapshot -c one "$dir/qcow2"
qemu-io -f qcow2 -c 'write -P 7 3m 100k' "$dir/qcow2" > /dev/null
qemu-img snapshot -c two "$dir/qcow2"
head -c 102400 /dev/zero | tr '\0' '\007' |
  dd of="$dir/raw" bs=64k seek=3145728 oflag=seek_bytes conv=notrunc \
     status=none
changed=$(reference "$dir/raw")
prints_sum "$changed" blksum "$dir/qcow2"
qemu-img snapshot -a one "$dir/qcow2"
prints_sum "$sum" blksum "$dir/qcow2"

# The lowest byte of the incompatible features: 1 is dirty, 2 is corrupt.
cp "$dir/original" "$dir/dirty"
set_byte "$dir/dirty" 79 001
prints_sum "$sum" blksum "$dir/dirty"
cp "$dir/original" "$dir/corrupt"
set_byte "$dir/corrupt" 79 002
refuses 'corrupt' blksum "$dir/corrupt"
refuses 'corrupt' blksum -f qcow2 "$dir/corrupt"
prints_sum "$(reference "$dir/corrupt")" blksum -f raw "$dir/corrupt"

# Incompatible feature 63, and version 9.
cp "$dir/original" "$dir/future"
set_byte "$dir/future" 72 200
refuses "$dir/future: " blksum "$dir/future"
cp "$dir/original" "$dir/version"
set_byte "$dir/version" 7 011
refuses "$dir/version: " blksum "$dir/version"

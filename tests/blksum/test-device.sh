#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Block devices, raw and with a qcow2, are read with and without the page cache.

. "$(dirname "$0")/../functions.sh"
requires_root
requires_program losetup

make_image "$dir/raw"
sum=$(reference "$dir/raw")

attach "$dir/raw"
from_stdin () { blksum "$@" < "$device"; }
prints_sum "$sum" blksum "$device"
prints_sum "$sum" blksum -c "$device"
prints_sum "$sum" blksum -t 1 --no-extents "$device"
prints_sum "$sum" from_stdin
prints_sum "$(reference -b 4 "$dir/raw")" blksum -b 4 "$device"
prints_sum "$(reference -b 16777216 "$dir/raw")" blksum -b 16m "$device"

# The size of the device is not a multiple of the alignment of direct I/O.  A guest
# can write any first bytes: there is no note that they look like xz data.
head -c 1049088 "$dir/raw" > "$dir/odd"
printf '\3757zXZ\000' | dd of="$dir/odd" conv=notrunc status=none
attach "$dir/odd"
prints_sum "$(reference "$dir/odd")" blksum "$device"
prints_sum "$(reference "$dir/odd")" from_stdin

requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
truncate -s %512 "$dir/qcow2"
attach "$dir/qcow2"
prints_sum "$sum" blksum "$device"
prints_sum "$sum" blksum -c "$device"
prints_sum "$sum" blksum -f qcow2 "$device"
prints_sum "$(reference "$dir/qcow2")" blksum -f raw "$device"

# Another host has written: the new data is read, although the page cache has
# the old tables, which an open descriptor keeps there.
requires_program qemu-io
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/shared"
truncate -s 16m "$dir/shared"
attach "$dir/shared"
exec 5< "$device"
cat <&5 > /dev/null
qemu-io -f qcow2 -c "write -P 7 6m 1m" -c "write -z 0 64k" "$dir/shared" \
        > "$dir/io.log" || fail "$(cat "$dir/io.log")"
qemu-img convert -f qcow2 -O raw "$dir/shared" "$dir/new"
prints_sum "$(reference "$dir/new")" blksum "$device"
exec 5<&-

# The same while the format is probed, and the image is checked.
for format in qcow2 vdi; do
  truncate -s 16m "$dir/empty-$format"
  attach "$dir/empty-$format"
  exec 5< "$device"
  cat <&5 > /dev/null
  qemu-img convert -f raw -O $format "$dir/raw" "$dir/written"
  dd if="$dir/written" of="$dir/empty-$format" bs=1M conv=notrunc status=none
  prints_sum "$sum" blksum "$device"
  prints_sum "$sum" blksum -f $format "$device"
  exec 5<&-
done

# The same for a backing file.
qemu-img create -q -f qcow2 -F vdi -b "$device" "$dir/overlay" 8m
prints_sum "$sum" blksum -f qcow2 "$dir/overlay"

# The device is too short for the clusters of the qcow2.
size=$(stat -c %s "$dir/qcow2")
head -c $((size / 2 / 512 * 512)) "$dir/qcow2" > "$dir/cut"
attach "$dir/cut"
refuses "$device: " blksum "$device"

# It is too short for the last sector of compressed data; with that sector it is
# complete.
cp --sparse=never "$dir/raw" "$dir/full" # compress only writes whole clusters
qemu-img create -q -f qcow2 "$dir/compressed" 8m
options=driver=compress,file.driver=qcow2,file.file.driver=file
qemu-img convert -n -S 0 -f raw --target-image-opts "$dir/full" \
         "$options,file.file.filename=$dir/compressed"
size=$(stat -c %s "$dir/compressed")
head -c $(((size - 1) / 512 * 512)) "$dir/compressed" > "$dir/less"
attach "$dir/less"
refuses "$device: .*compressed cluster" blksum "$device"
cp "$dir/compressed" "$dir/more"
truncate -s $(((size + 511) / 512 * 512)) "$dir/more"
attach "$dir/more"
prints_sum "$sum" blksum "$device"

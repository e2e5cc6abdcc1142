#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A self-contained qcow2 with any options has the sum of its content.

. "$(dirname "$0")/../functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")

# has_sum OPTION...: with these options of qemu-img convert.
has_sum () {
  echo "+ qemu-img convert $*"
  qemu-img convert -f raw -O qcow2 "$@" "$dir/raw" "$dir/qcow2"
  prints_sum "$sum" blksum "$dir/qcow2"
  prints_sum "$sum" blksum -f qcow2 "$dir/qcow2"
}

has_sum
has_sum -c
has_sum -c -o compression_type=zstd
has_sum -o cluster_size=512
has_sum -o cluster_size=2m
has_sum -c -o cluster_size=2m
has_sum -o extended_l2=on
has_sum -o compat=0.10
has_sum -o preallocation=metadata
has_sum -o lazy_refcounts=on

# Other ways to open it.
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
prints_sum "$sum" blksum --no-extents "$dir/qcow2"
prints_sum "$sum" blksum -c "$dir/qcow2"
prints_sum "$sum" blksum -t 1 --queue-depth 1 --read-size 4k "$dir/qcow2"
prints_sum "$sum" blksum --queue-size 1 "$dir/qcow2"
prints_sum "$(reference -b 4096 "$dir/raw")" blksum -b 4k "$dir/qcow2"
prints_sum "$(reference -b 16777216 "$dir/raw")" blksum -b 16m "$dir/qcow2"
prints_sum "$(reference "$dir/qcow2")" blksum -f raw "$dir/qcow2"

# The file that was given is opened, whatever its name contains.
cp "$dir/qcow2" "$dir/a, \"b\" = {c}%d.img"
prints_sum "$sum" blksum "$dir/a, \"b\" = {c}%d.img"
prints_sum "$sum" blksum -f qcow2 "$dir/a, \"b\" = {c}%d.img"
cp "$dir/qcow2" "$dir/nbd:x"
cp "$dir/qcow2" "$dir/json:{}"
in_dir () { (cd "$dir" && blksum "$@"); }
prints_sum "$sum" in_dir ./nbd:x
prints_sum "$sum" in_dir nbd:x
prints_sum "$sum" in_dir -f qcow2 nbd:x
prints_sum "$sum" in_dir json:{}
prints_sum "$sum" in_dir -f qcow2 json:{}

# An empty image, and an image that is larger than its data: 1 TiB in the long
# form.
qemu-img create -q -f qcow2 "$dir/empty" 0
: > "$dir/none"
prints_sum "$(reference "$dir/none")" blksum "$dir/empty"
size=16g
! is_long || size=1t
qemu-img resize -q "$dir/qcow2" $size
truncate -s $size "$dir/raw"
prints_sum "$(reference "$dir/raw")" blksum "$dir/qcow2"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file that is truncated while it is read has no sum, even with -U, because no
# image has such a sum.

. "$(dirname "$0")/../functions.sh"

# Data, then a hole of the same size.
new_image () {
  rm -f "$dir/image"
  write_data "$dir/image" 0 33554432
  truncate -s 64m "$dir/image"
}
from_stdin () { midway "$@" < "$dir/image"; }

# Truncated within the data, at its end, in the hole, and by one byte.
for size in 16m 32m 48m 67108863; do
  for options in "" "-t 1" "--no-extents"; do
    new_image
    refuses "$dir/image: .*truncated" midway "truncate -s $size $dir/image" \
            -U $options "$dir/image"
    new_image
    refuses "-: .*truncated" from_stdin "truncate -s $size $dir/image" \
            -U $options
  done
done

# A file that grows has the sum of its first size: this is the purpose of -U.
new_image
sum=$(reference "$dir/image")
prints_sum "$sum" midway "truncate -s 65m $dir/image" -U "$dir/image"

requires_qemu
new_image
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
refuses "$dir/qcow2: " midway "truncate -s 16m $dir/qcow2" -U "$dir/qcow2"

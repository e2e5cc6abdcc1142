#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A vpc (VHD) with a parent has no sum: qemu would read data of the parent as
# zeros.  Neither has a vpc whose footers contradict each other.

. "$(dirname "$0")/functions.sh"
requires_qemu
cd "$dir"

# craft FIRST LAST: creates an image with these types in its first and last
# footer.
craft () { "$PYTHON" "$abs_top_srcdir/tests/craft-image.py" vpc image "$@"; }

# Dynamic, with and without the footer at the end.
truncate -s 1m raw
for last in 3 0; do
  craft 3 $last
  prints_sum "$(reference raw)" blksum -f vpc image
  prints_sum "$(reference raw)" blksum --image-opts driver=vpc,file.filename=image
done
# In older versions the last byte is missing.
craft 3 3
truncate -s -1 image
prints_sum "$(reference raw)" blksum -f vpc image
# Fixed.
craft 0 2
prints_sum "$(reference raw)" blksum -f vpc image

# refused REGEX: refused in all ways to open it, except as raw.
refused () {
  refuses "$1" blksum -f vpc image
  refuses "image': .*$1" blksum --image-opts driver=vpc,file.filename=image
  qemu-img create -q -u -f qcow2 -F vpc -b image top 1m
  refuses "image': .*$1" blksum -f qcow2 top
  refuses "image': .*$1" blksum --image-opts driver=qcow2,file.filename=top
  refuses "image': .*$1" blksum --image-opts driver=qcow2,"\
file.filename=top,backing.driver=vpc,backing.file.filename=image"
  json='json:{"driver":"vpc","file":{"driver":"file","filename":"image"}}'
  qemu-img create -q -u -f qcow2 -F vpc -b "$json" top 1m
  refuses "cannot be checked" blksum -f qcow2 top
  prints_sum "$(reference image)" blksum -f raw image
}

for types in '4 4' '3 4' '4 3' '4 0' '0 4'; do
  craft $types
  refused "parent.*-f raw"
done
for types in '4 4' '3 4' '4 3'; do
  craft $types
  refuses "parent.*-f raw" blksum image
done
# Unknown types; and a fixed disk that begins like a dynamic one, as its guest
# can write.
for types in '5 5' '3 5' '2 2' '3 2' '0 3'; do
  craft $types
  refused "type.*-f raw"
done

# Truncated at the end of the block allocation table.
craft 3 0
truncate -s 1539 image
refused "block allocation table"

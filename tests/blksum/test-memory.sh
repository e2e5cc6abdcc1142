#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A small image cannot make qemu-nbd allocate much memory by sizes in its
# header: such images are refused before qemu opens them.  Large disks have
# large tables, and are read.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

craft () { "$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" "$@"; }

truncate -s 1m raw
zeros=$(reference raw)

# vmdk: a compressed grain unpacks to 512 MiB.  1 MiB is fine.
craft vmdk image 1048576
refuses 'compressed grains of 1048576 sectors' blksum image
refuses 'compressed grains of 1048576 sectors' blksum -f vmdk image
craft vmdk image 2048
prints_sum "$zeros" blksum image
craft vmdk image 2049
refuses 'compressed grains of 2049 sectors' blksum image

# A vmdk whose extents are small enough one by one: 8 directories of 64 MiB,
# twice, because each can have a redundant one.
descriptor () {
  printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n'
  printf 'parentCID=ffffffff\ncreateType="twoGbMaxExtentSparse"\n'
}
"$PYTHON" - << 'END'
import struct
with open("extent", "wb") as f:
    f.write(struct.pack("<4sIIQQQQIQQQ", b"KDMV", 1, 3, 1 << 24, 1, 0, 0, 1,
                        0, 1, 0))
    f.truncate(512 + (64 << 20))
END
{ descriptor; echo 'RW 16777216 SPARSE "extent"'; echo '#DDB'; } > image
run 0 blksum -b 16m -f vmdk image
{ descriptor
  for i in 1 2 3 4 5; do echo 'RW 16777216 SPARSE "extent"'; done; } > image
refuses 'extents.*more than 512 MiB' blksum -f vmdk image

# Tables of other formats.
craft vdi image 1
prints_sum "$zeros" blksum image
craft vdi image 536870911
refuses 'block map.*passes the end' blksum image
craft vpc image 3 3 128
prints_sum "$zeros" blksum -f vpc image
craft vpc image 3 3 268435455
refuses 'block allocation table.*passes the end' blksum -f vpc image
# A table that is too large even if the file is as long.
craft vdi image 268435456
truncate -s 2g image
refuses 'more than the 512 MiB' blksum image

# Bitmaps of a qcow2 with all bits set: 2 TiB, with a bit for each 512 bytes.
qemu-img create -q -f qcow2 image 2t
for name in a b; do
  qemu-img bitmap --add -g 512 image $name || skip "cannot create a bitmap"
done
# Most of this time is that of qemu-nbd.
! is_long && is_instrumented || run 0 blksum -b 16m image
craft bitmaps image
for format in '' '-f qcow2'; do
  refuses 'bitmaps.*more than 512 MiB.*qemu-img bitmap --remove' \
          blksum -b 16m $format image
done
qemu-img create -q -f qcow2 -F qcow2 -u -b image top 2t
refuses "image': .*bitmaps" blksum -f qcow2 top
if is_long || ! is_instrumented; then
  qemu-img bitmap --remove image a
  run 0 blksum -b 16m image
fi

# Large disks.
for format in qcow2=64t vdi=4t vpc=2040g vmdk=256g; do
  size=${format#*=}
  format=${format%=*}
  qemu-img create -q -f $format image $size
  [ $format != qcow2 ] || qemu-img bitmap --add image a
  echo "+ $format of $size"
  run 0 blksum -b 16m --output=json -f $format image
  grep -q '"data-bytes":0,"zero-bytes":0' stdout || fail "data in $format"
  [ $format = vpc ] || run 0 blksum -b 16m image
done

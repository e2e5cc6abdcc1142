#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Messages about images contain advice; an image can be hashed when it is
# followed.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

make_image raw
sum=$(reference raw)
set_name="'qemu-img rebase -u -b FILE -F FORMAT IMAGE'"

# ---- A backing file without a format ----

for base in raw qcow2; do
  qemu-img convert -f raw -O $base raw base
  # qemu-img writes the format to a qcow2.
  qemu-img create -q -u -f qcow2 -b base -F $base image 8m
  "$PYTHON" - image << 'END'
import sys
with open(sys.argv[1], "r+b") as image:
    header = image.read(65536)
    image.seek(header.index(b"\xe2\x79\x2a\xca"))
    image.write(b"\xe2\x79\x2a\xcb")
END
  refuses "'base' but not its format: .*$set_name" \
          blksum -f qcow2 image
  qemu-img rebase -u -f qcow2 -b base -F $base image
  prints_sum "$sum" blksum -f qcow2 image
done

# ---- A name that cannot be checked ----

qemu-img convert -f raw -O qcow2 raw base
json='json:{"driver":"qcow2","file":{"driver":"file","filename":"base"}}'
qemu-img create -q -u -f qcow2 -F qcow2 -b "$json" image 8m
refuses "'json:.*cannot be checked: .*$set_name, or use -f raw" blksum image
refuses "names 'json:.*cannot be checked: .*$set_name" blksum -f qcow2 image
prints_sum "$(reference image)" blksum -f raw image
qemu-img rebase -u -f qcow2 -b base -F qcow2 image
prints_sum "$sum" blksum -f qcow2 image

# ---- A data file without a name ----

qemu-img create -q -f qcow2 -o data_file=data,data_file_raw=on image 8m
qemu-img convert -n -f raw -O qcow2 raw image
"$PYTHON" - image << 'END'
import sys
with open(sys.argv[1], "r+b") as image:
    header = image.read(65536)
    image.seek(header.index(b"DATA"))
    image.write(b"DATB")
END
run 2 blksum -f qcow2 image
says_once "does not name the data file: set it with 'qemu-img amend "
sed -n "s/.*with '\(qemu-img .*\)'$/\1/; s/FILE/data/g; s/IMAGE/image/p" \
    stderr > command
sh -e command
prints_sum "$sum" blksum -f qcow2 image

# ---- A vmdk with a parent ----

qemu-img convert -f raw -O vmdk raw base.vmdk
if qemu-img create -q -f vmdk -b base.vmdk -F vmdk image > /dev/null 2>&1
then
  refuses "with a parent.*-f vmdk" blksum image
  prints_sum "$sum" blksum -f vmdk image
fi

# ---- A vdi with a parent ----

qemu-img convert -f raw -O vdi raw image
printf '\007' | dd of=image bs=1 seek=424 conv=notrunc status=none
refuses "needs its parent.*convert it.*-f raw" blksum image
refuses "needs its parent.*convert it.*-f raw" blksum -f vdi image
prints_sum "$(reference image)" blksum -f raw image

# ---- Marked as corrupt ----

qemu-img convert -f raw -O qcow2 raw image
printf '\002' | dd of=image bs=1 seek=79 conv=notrunc status=none
refuses "marked as corrupt: .*'qemu-img check -r all'" blksum image
qemu-img check -q -r all image > /dev/null
prints_sum "$sum" blksum image

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --image-opts: operands are options of qemu, which must say the driver.

. "$(dirname "$0")/functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"

prints_sum "$sum" blksum --image-opts "driver=qcow2,file.filename=$dir/qcow2"
prints_sum "$sum" blksum --image-opts \
           "driver=qcow2,file.driver=file,file.filename=$dir/qcow2"
prints_sum "$(reference "$dir/qcow2")" blksum --image-opts \
           "driver=raw,file.filename=$dir/qcow2"

# A part of a raw file.
tail -c +1048577 "$dir/raw" | head -c 2097152 > "$dir/part"
prints_sum "$(reference "$dir/part")" blksum --image-opts \
           "driver=raw,offset=1m,size=2m,file.filename=$dir/raw"

# A comma in a name is doubled.
cp "$dir/qcow2" "$dir/a,b"
prints_sum "$sum" blksum --image-opts "driver=qcow2,file.filename=$dir/a,,b"

refuses "file.filename=$dir/qcow2: .*driver" \
        blksum --image-opts "file.filename=$dir/qcow2"
refuses "driver=qcow2,file.filename=$dir/none: " \
        blksum --image-opts "driver=qcow2,file.filename=$dir/none"
refuses "driver=nonsense" \
        blksum --image-opts "driver=nonsense,file.filename=$dir/qcow2"
refuses '.*--format' blksum --image-opts -f qcow2 "$dir/qcow2"
refuses '.*--image-opts' blksum --object secret,id=a,data=b "$dir/qcow2"

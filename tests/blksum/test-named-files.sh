#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An image whose header names other files is refused if it was probed, because a
# guest can write any header into its raw disk.  With -f qcow2 the header is
# trusted, with -f raw it is data.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io

# A chain: base.raw <- middle <- top.
make_image "$dir/base.raw"
cp "$dir/base.raw" "$dir/raw"
qemu-img create -q -f qcow2 -F raw -b base.raw "$dir/middle"
qemu-img create -q -f qcow2 -F qcow2 -b middle "$dir/top"
qemu-io -f qcow2 -c 'write -P 7 3m 100k' "$dir/middle" > /dev/null
qemu-io -f qcow2 -c 'write -P 9 4m 100k' -c 'write -z 1m 128k' "$dir/top" \
        > /dev/null
qemu-img convert -f qcow2 -O raw "$dir/top" "$dir/raw"
sum=$(reference "$dir/raw")
refuses "$dir/top: .*middle.*-f qcow2.*-f raw" blksum "$dir/top"
prints_sum "$sum" blksum -f qcow2 "$dir/top"
prints_sum "$sum" blksum -f qcow2 --no-extents "$dir/top"
prints_sum "$(reference "$dir/top")" blksum -f raw "$dir/top"

# A file of the chain is missing, or truncated.
mv "$dir/base.raw" "$dir/away"
refuses 'base.raw' blksum -f qcow2 "$dir/top"
mv "$dir/away" "$dir/base.raw"
cp "$dir/middle" "$dir/whole"
truncate -s 300k "$dir/middle"
refuses 'middle' blksum -f qcow2 "$dir/top"
cp "$dir/whole" "$dir/middle"
prints_sum "$sum" blksum -f qcow2 "$dir/top"

# A backing file whose format would be probed: the header extension with its
# format gets an unknown type.
"$PYTHON" - "$dir/top" << 'END'
import sys
with open(sys.argv[1], "r+b") as image:
    header = image.read(65536)
    image.seek(header.index(b"\xe2\x79\x2a\xca"))
    image.write(b"\xe2\x79\x2a\xcb")
END
refuses 'format' blksum -f qcow2 "$dir/top"

# An external data file, raw or not.
for raw in on off; do
  rm -f "$dir/data" "$dir/qcow2"
  qemu-img create -q -f qcow2 -o data_file="$dir/data",data_file_raw=$raw \
           "$dir/qcow2" 8m
  qemu-img convert -n -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
  refuses "data file.*-f qcow2.*-f raw" blksum "$dir/qcow2"
  prints_sum "$sum" blksum -f qcow2 "$dir/qcow2"
done
truncate -s 100k "$dir/data"
refuses "$dir/qcow2: " blksum -f qcow2 "$dir/qcow2"
rm "$dir/data"
refuses "$dir/data" blksum -f qcow2 "$dir/qcow2"
# The extension of the header with its name gets an unknown type.
"$PYTHON" - "$dir/qcow2" << 'END'
import sys
with open(sys.argv[1], "r+b") as image:
    header = image.read(65536)
    image.seek(header.index(b"\x44\x41\x54\x41"))
    image.write(b"\x44\x41\x54\x42")
END
refuses "does not name the data file" blksum -f qcow2 "$dir/qcow2"

# A raw disk whose guest wrote the header of a qcow2 that names /etc/passwd.
qemu-img create -q -u -f qcow2 -F raw -b /etc/passwd "$dir/guest" 8m
write_data "$dir/guest" 1000000 100000
refuses "/etc/passwd.*-f qcow2.*-f raw" blksum "$dir/guest"
prints_sum "$(reference "$dir/guest")" blksum -f raw "$dir/guest"
from_stdin () { blksum < "$1" 2> "$dir/note"; }
prints_sum "$(reference "$dir/guest")" from_stdin "$dir/guest"

# Beyond the first 512 bytes, and before the last, such a header is data.
head -c 65536 "$dir/guest" > "$dir/header"
for at in 1 511 512 4096 32768 65536 8323071; do
  make_image "$dir/guest"
  dd if="$dir/header" of="$dir/guest" bs=64k seek=$at oflag=seek_bytes \
    conv=notrunc status=none
  prints_sum "$(reference "$dir/guest")" blksum "$dir/guest"
done

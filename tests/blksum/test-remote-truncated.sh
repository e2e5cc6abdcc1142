#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An image on a server has no sum unless it is raw: qemu reads the missing end of
# a truncated image as zeros, and blksum cannot learn the exact size of the file.
# If it is mounted as a local file, it is checked like any other.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_nbdkit file
cd "$dir"

hint='on a server, where truncat.*copy it first, or mount it'

make_image raw
write_data raw 7000000 1388608 # to the end
sum=$(reference raw)

# ---- Backing files and data files ----

qemu-img convert -f raw -O qcow2 raw qcow2
head -c 2000000 qcow2 > served
start_nbdkit -r file served
qemu-img create -q -u -f qcow2 -F qcow2 -b "$uri" top 8m
qemu-img create -q -u -f qcow2 -F qcow2 -b top above 8m
refuses "backing file 'nbd.*' is a qcow2 image $hint" blksum -f qcow2 top
refuses "top': .*backing file 'nbd.*' is a qcow2 image $hint" \
        blksum -f qcow2 above
# These servers do not exist: an image is refused before qemu connects.
for url in https://blksum.invalid/image ssh://blksum.invalid/image rbd:pool/x
do
  qemu-img create -q -u -f qcow2 -F qcow2 -b "$url" top 8m
  refuses "is a qcow2 image $hint" blksum -f qcow2 top
done

# qemu-img cannot make an image whose data file is on a server that does not
# exist.
name=nbd://blksum.invalid/data
local_name=nbd---blksum.invalid-data
qemu-img create -q -f qcow2 -o data_file=$local_name,data_file_raw=on \
         with-data 8m
qemu-img convert -n -f raw -O qcow2 raw with-data
mv $local_name data
"$PYTHON" - with-data $local_name $name << 'END'
import sys
with open(sys.argv[1], "r+b") as image:
    header = image.read(65536)
    image.seek(0)
    image.write(header.replace(sys.argv[2].encode(), sys.argv[3].encode()))
END
refuses "data file '$name' is $hint" blksum -f qcow2 with-data

# ---- Raw images ----

start_nbdkit -r file raw
qemu-img create -q -u -f qcow2 -F raw -b "$uri" top 8m
prints_sum "$sum" blksum -f qcow2 top

# ---- Mounted as local files ----

if ! command -v nbdfuse > /dev/null || ! command -v fusermount3 > /dev/null
then
  echo "nbdfuse or fusermount3 is missing: mounts are not tested"
  exit 0
fi

# mount_served NAME: mounts a server of the file NAME over an empty file in mnt.
mkdir mnt
mount_served () {
  start_nbdkit -r file "$1"
  : > "mnt/$1"
  { nbdfuse -r -P "$1.mounted" "mnt/$1" "$uri" || : > "$1.failed"; } \
    2> "$1.log" &
  wait_until eval "[ -s $1.mounted ] || [ -e $1.failed ]"
  if [ -e "$1.failed" ]; then
    echo "mounts are not tested: $(cat "$1.log")"
    exit 0
  fi
  at_exit "fusermount3 -u -z '$dir/mnt/$1'"
}

qemu-img create -q -f qcow2 -F qcow2 -b qcow2 top
qemu-img create -q -u -f qcow2 -F qcow2 -b cut above-cut 8m
qemu-img convert -f raw -O vmdk raw vmdk
head -c -1 qcow2 > cut
for name in qcow2 cut vmdk top above-cut; do
  mount_served $name
done
prints_sum "$sum" blksum mnt/qcow2
prints_sum "$sum" blksum mnt/vmdk
refuses "mnt/cut: .*truncated" blksum mnt/cut
prints_sum "$sum" blksum -f qcow2 mnt/top
refuses "mnt/cut': .*truncated" blksum -f qcow2 mnt/above-cut

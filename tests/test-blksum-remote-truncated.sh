#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An image on a server has no sum unless it is raw: qemu reads the missing end of
# a truncated image as zeros, and blksum cannot learn the exact size of the file.
# If it is mounted as a local file, it is checked like any other.

. "$(dirname "$0")/functions.sh"
requires_qemu
requires_nbdkit file
cd "$dir"

hint='on a server, where truncat.*copy it first, or mount it'

# opts OPTIONS: runs blksum --image-opts OPTIONS.
opts () { blksum --image-opts "$@"; }

# node PREFIX: prints the options of a node that is the last server, with this
# prefix.
node () { echo "$1driver=nbd,$1server.type=unix,$1server.path=$socket"; }

make_image raw
write_data raw 7000000 1388608 # to the end
sum=$(reference raw)

# ---- Formats, whole and truncated ----

for format in qcow2 vmdk vdi vhdx vpc qcow qed parallels; do
  rm -f image
  qemu-img convert -f raw -O $format raw image 2> log || continue
  size=$(stat -c %s image)
  # qemu rounds the size up, so that it is the same if one byte is missing.
  for length in $size $((size - 1)) $((size / 2)); do
    head -c $length image > served
    start_nbdkit -r file served
    for options in "driver=$format,$(node file.)" \
                   "driver=raw,file.driver=$format,$(node file.file.)" \
                   "driver=$format,file.driver=raw,$(node file.file.)"; do
      refuses "a $format image $hint" opts "$options"
    done
  done
done

# In a LUKS image that ends within a sector, qemu would decrypt added zeros.
for driver in luks,key-secret=key bochs cloop dmg; do
  for options in "$(node file.)" "file.driver=raw,$(node file.file.)"; do
    refuses "a ${driver%%,*} image $hint" opts "driver=$driver,$options"
  done
done
refuses "a qcow2 image $hint" \
        opts "driver=luks,key-secret=key,file.driver=qcow2,$(node file.file.)"

# These servers do not exist: an image is refused before qemu connects.
for server in https,file.url=https://blksum.invalid/image \
              ssh,file.server.host=blksum.invalid,file.path=/image \
              rbd,file.pool=pool,file.image=image; do
  refuses "a qcow2 image $hint" opts "driver=qcow2,file.driver=$server"
done

# ---- Backing files and data files ----

qemu-img convert -f raw -O qcow2 raw qcow2
head -c 2000000 qcow2 > served
start_nbdkit -r file served
qemu-img create -q -u -f qcow2 -F qcow2 -b "$uri" top 8m
qemu-img create -q -u -f qcow2 -F qcow2 -b top above 8m
refuses "backing file 'nbd.*' is a qcow2 image $hint" blksum -f qcow2 top
refuses "top': .*backing file 'nbd.*' is a qcow2 image $hint" \
        blksum -f qcow2 above
refuses "top': .*backing file 'nbd.*' is a qcow2 image $hint" \
        opts driver=qcow2,file.filename=top
options=driver=qcow2,file.filename=top,backing.driver=qcow2
refuses "a qcow2 image $hint" opts "$options,$(node backing.file.)"
prints_sum "$sum" opts "$options,backing.file.filename=qcow2"

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
options=driver=qcow2,file.filename=with-data
prints_sum "$sum" opts "$options,data-file.filename=data"
refuses "data file '$name' is $hint" blksum -f qcow2 with-data
refuses "data file '$name' is $hint" opts "$options"
truncate -s 100k data
start_nbdkit -r file data
refuses "data file is $hint" opts "$options,$(node data-file.)"
refuses "data file is $hint" \
        opts "$options,data-file.driver=raw,$(node data-file.file.)"

# ---- Raw images ----

start_nbdkit -r file raw
prints_sum "$sum" opts "driver=raw,$(node file.)"
prints_sum "$sum" opts "$(node '')"
qemu-img create -q -u -f qcow2 -F raw -b "$uri" top 8m
prints_sum "$sum" blksum -f qcow2 top
prints_sum "$sum" opts driver=qcow2,file.filename=top
# qemu does not combine these options with a name in the header.
rm top
qemu-img create -q -f qcow2 top 8m
prints_sum "$sum" opts "driver=qcow2,file.filename=top,backing.driver=raw,\
$(node backing.file.)"

# ---- Mounted as local files ----

if ! command -v nbdfuse > /dev/null || ! command -v fusermount3 > /dev/null
then
  echo "nbdfuse or fusermount3 is missing: mounts are not tested"
  exit 0
fi

# mount_served NAME: mounts a server of the file NAME as mnt-NAME/NAME.
mount_served () {
  start_nbdkit -r file "$1"
  mkdir "mnt-$1"
  { nbdfuse -r -P "$1.mounted" "mnt-$1/$1" "$uri" || : > "$1.failed"; } \
    2> "$1.log" &
  wait_until eval "[ -s $1.mounted ] || [ -e $1.failed ]"
  if [ -e "$1.failed" ]; then
    echo "mounts are not tested: $(cat "$1.log")"
    exit 0
  fi
  at_exit "fusermount3 -u -z '$dir/mnt-$1'"
}

qemu-img create -q -f qcow2 -F qcow2 -b qcow2 top
qemu-img convert -f raw -O vmdk raw vmdk
head -c -1 qcow2 > cut
for name in qcow2 cut vmdk top; do
  mount_served $name
done
prints_sum "$sum" blksum mnt-qcow2/qcow2
prints_sum "$sum" blksum mnt-vmdk/vmdk
refuses "mnt-cut/cut: .*truncated" blksum mnt-cut/cut
options=driver=qcow2,file.filename=mnt-top/top,backing.driver=qcow2
prints_sum "$sum" opts "$options,backing.file.filename=mnt-qcow2/qcow2"
refuses "mnt-cut/cut': .*truncated" \
        opts "$options,backing.file.filename=mnt-cut/cut"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair uses what /sys says of a device: its physical sectors, and of
# which devices it is made.  These are replaced in a mount namespace.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_loop
requires_program unshare
requires unshare --mount true

cd "$dir"
requires_direct
make_good good
make_manifest good

# attach_known FILE: also sets $sys to the directory of $device in /sys.
attach_known () {
  attach_direct "$1"
  sys=/sys/devices/virtual/block/${device#/dev/}
}

# with REPLACEMENT PATH STATUS COMMAND...: the same as run, with another file or
# directory at PATH in /sys.
with () {
  replacement=$1 replaced=$2 with_status=$3
  shift 3
  run "$with_status" unshare --mount sh -c '
    mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$dir/$replacement" \
    "$replaced" "$@"
}

# repair_with REPLACEMENT PATH STATUS ARGUMENT...
repair_with () {
  repair_replacement=$1 repair_path=$2 repair_status=$3
  shift 3
  with "$repair_replacement" "$repair_path" "$repair_status" blkhash repair \
    --manifest good.blkm --sum "$sum" --limit 50% "$@"
}

# ---- Physical sectors ----

echo 131072 > physical
echo 512 > misaligned
cp good disk
damage disk 3
attach_known disk
disk_device=$device disk_sys=$sys
for path in "$sys" /sys/dev/block/"$(stat -c %Hd:%Ld disk)"; do
  queue=$path/queue
  [ -d "$queue" ] || queue=$(realpath "$path/..")/queue
  if [ "$path" = "$sys" ]; then
    leaves_alone disk repair_with physical "$queue/physical_block_size" 1 \
      --from good "$device"
    says_once "$device: 65536 bytes at 196608 differ; they cannot be written directly"
  else
    # A file can begin within a physical sector that is larger than its blocks.
    leaves_alone disk repair_with physical "$queue/physical_block_size" 2 \
      --from good disk
    says_once "disk: cannot be repaired: its file system has blocks of [0-9]* bytes, and its device is written in units of 131072,"
    leaves_alone disk repair_with physical "$queue/physical_block_size" 2 \
      --from good "$device"
    says_once "$device: cannot be repaired: the backing file of its loop device, '.*/disk', cannot be repaired: its file system has blocks"
    leaves_alone disk repair_with misaligned "$(realpath "$path")/alignment_offset" 2 \
      --from good disk
    says_once "disk: cannot be repaired: it begins within a physical sector of [0-9]* bytes of its drive"
  fi
done
blksum -b 128k --manifest 128k.blkm good > stdout
with physical "$sys/queue/physical_block_size" 0 blkhash repair \
  --manifest 128k.blkm --sum none --from good "$device"
same disk good

damage disk 3
leaves_alone disk repair_with misaligned "$sys/alignment_offset" 2 \
  --from good "$device"
says_once "$device: cannot be repaired: it begins within a physical sector of [0-9]* bytes of its drive"

# A partition that begins at a sector, but within a block of the file system.
echo 0 > aligned
truncate -s 10m partitioned
attach_known partitioned
part=${device}p1
if addpart "$device" 1 1 8200 2> addpart.log && [ -b "$part" ]; then
  leaves_alone partitioned repair_with aligned "$sys/${part#/dev/}/alignment_offset" 2 \
    --from good "$part"
  says_once "$part: cannot be repaired: it begins within a unit in which '.*/partitioned' is written$"
  delpart "$device" 1
else
  echo "no partition of a loop device is tested: $(cat addpart.log)"
fi

# ---- Devices that are made of others ----

# The device is made of $below, whose file is "below".
cp good below
damage disk 3
top=$disk_device top_sys=$disk_sys
attach_known below
below=$device
mkdir slaves
ln -s "$sys" "slaves/${below#/dev/}"
damage below 5
for pair in "$top $below" "$below $top" "$top below" "below $top"; do
  cp below below.before
  leaves_alone disk repair_with slaves "$top_sys/slaves" 2 \
    --from ${pair% *} ${pair#* }
  says_once "${pair% *}: is the disk that is to be repaired$"
  same below below.before
done
repair_with slaves "$top_sys/slaves" 0 --from good below
# Two devices that are made of the same one.
cp good sibling
attach_known sibling
sibling=$device
run 0 unshare --mount sh -c '
  mount --bind slaves "$1" && mount --bind slaves "$2" && shift 2 && exec "$@"' sh \
  "$top_sys/slaves" "$sys/slaves" blkhash repair --manifest good.blkm \
  --sum "$sum" --limit 50% --from "$sibling" "$top"
same disk good

# A partition of a device that is made of $below.
attach_known partitioned
part=${device}p1
if addpart "$device" 1 2048 8200 2> addpart.log && [ -b "$part" ]; then
  leaves_alone partitioned repair_with slaves "$sys/slaves" 2 --from "$below" \
    "$part"
  says_once "$below: is the disk that is to be repaired$"
  delpart "$device" 1
fi

# The lower device answers from the page cache.
cp good lower
no_direct=$(loop_device lower)
at_exit "losetup -d $no_direct"
mkdir cached
ln -s "/sys/devices/virtual/block/${no_direct#/dev/}" "cached/${no_direct#/dev/}"
damage disk 3
leaves_alone disk repair_with cached "$top_sys/slaves" 2 --from good "$top"
says_once "$top: cannot be repaired: it is on a loop device that answers from the page cache"

# ---- What /sys does not say ----

# A device that is made of an unknown one, and one that is made of itself.
mkdir -p unknown/one
echo 7:1048575 > unknown/one/dev
leaves_alone disk repair_with unknown "$top_sys/slaves" 2 --from good "$top"
says_once "$top: cannot be repaired: /sys does not say what device 7:1048575 is$"
mkdir itself
ln -s "$top_sys" "itself/${top#/dev/}"
leaves_alone disk repair_with itself "$top_sys/slaves" 2 --from good "$top"
says_once "$top: cannot be repaired: it is made of more than 8 layers of devices$"

# A device that is made of more devices than blksum records can be made of any device.
mkdir many
for i in $(seq 256); do
  mkdir "many/$i"
  echo "7:$((1000000 + i))" > "many/$i/dev"
done
leaves_alone disk repair_with many "$top_sys/slaves" 2 --from good "$top"
says_once "$top: is made of too many devices$"
cp good disk2
damage disk2 3
leaves_alone disk2 repair_with many "$top_sys/slaves" 2 --from "$top" disk2
says_once "$top: is the disk that is to be repaired$"

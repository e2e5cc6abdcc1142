#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair refuses a disk that is in use under another name: as a partition
# or as its disk, as the file of a loop device, or as a loop device over it.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_loop

cd "$dir"
requires_direct
make_good good
make_manifest good

# refuses_writer FILE DISK OPEN: FILE is that of DISK, and OPEN is open for writing.
refuses_writer () {
  hold "$3"
  leaves_alone "$1" refuses \
    "$2: is in use: process $holder ([^)]*) has a device or file that overlaps it open for writing$" \
    by_good --from good "$2"
  release
}

# ---- The file of a loop device, and another loop device over it ----

cp good disk
damage disk 3
attach_direct disk
first=$device
attach_direct disk
second=$device
refuses_writer disk "$first" disk
refuses_writer disk "$first" "$second"
refuses_writer disk disk "$first"
attach_direct "$first"
refuses_writer disk "$first" "$device"
refuses_writer disk disk "$device"
# The node of the device below is that of another device.
requires_program unshare
leaves_alone disk run 2 unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 &&
    exec "$@"' sh "$second" "$first" blkhash repair --manifest good.blkm \
  --sum "$sum" --limit 50% --from good "$device"
says_once "$device: cannot be repaired: the backing file of its loop device, '$first', is another file now$"
repair 0 "$first: OK (1 block repaired)" --from good "$first"
same disk good

# The locks of a program of qemu that reads the file of a loop device.
damage disk 3
hold_lock disk
leaves_alone disk refuses "$first: .* the backing file of its loop device, '.*/disk', is in use by another program, which reads or writes it" \
  by_good --from good "$first"
release

# ---- A partition and its disk, but not two partitions ----

truncate -s 10m partitions
dd if=good of=partitions bs=1M seek=1 conv=notrunc status=none
dd if=good of=partitions bs=1M seek=6 conv=notrunc status=none
attach_direct partitions --partscan
if addpart "$device" 1 2048 8200 2> addpart.log &&
    addpart "$device" 2 12288 8200 2>> addpart.log && [ -b "${device}p2" ]; then
  cp partitions good.partitions
  blksum --manifest partitions.blkm partitions > stdout
  damage partitions 19
  refuses_writer partitions "${device}p1" "$device"
  refuses_writer partitions "${device}p1" partitions
  hold "${device}p1"
  leaves_alone partitions refuses "$device: is in use: process $holder " \
    blkhash repair --manifest partitions.blkm --sum none --from good.partitions \
    "$device"
  release
  hold "${device}p2"
  repair 0 "${device}p1: OK (1 block repaired)" --from good "${device}p1"
  release
  same partitions good.partitions
  delpart "$device" 1
  delpart "$device" 2
else
  echo "no partitions of a loop device are tested: $(cat addpart.log)"
fi

# ---- A loop device over the disk that is mounted ----

requires_program mkfs.ext4 unshare
truncate -s 32m fs
requires mkfs.ext4 -q fs
blksum --manifest fs.blkm fs > stdout
cp fs good.fs
damage fs 200
attach_direct fs
mounted=$device
attach_direct fs
# repair-mounted OPTIONS DEVICE DISK: while DEVICE is mounted, in a mount namespace.
cat > repair-mounted << 'END'
mkdir -p at
mount -o "$1" "$2" at || exit 99
status=0
blkhash repair --manifest fs.blkm --sum none --from good.fs "$3" ||
  status=$?
umount at
exit $status
END
if mkdir probe && unshare --mount mount -o ro,noload "$mounted" probe 2> mount.log
then
  for disk in fs "$device"; do
    cp fs before.fs
    run 2 unshare --mount sh repair-mounted ro,noload "$mounted" "$disk"
    says_once "$disk: is in use: the loop device '$mounted' over it is mounted, or in exclusive use$"
    same fs before.fs
  done
  # The same if it is read-only, and only while it is mounted.
  attach_direct fs --read-only
  run 2 unshare --mount sh repair-mounted ro,noload "$device" fs
  says_once "fs: is in use: the loop device '$device' over it is mounted, or in exclusive use$"
  same fs before.fs
  run 0 blkhash repair --manifest fs.blkm --sum none --from good.fs fs
  same fs good.fs
else
  echo "no mounted loop device is tested: $(cat mount.log)"
fi

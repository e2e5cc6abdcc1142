#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --repair-from repairs block devices that are not in use, and not from
# themselves; a full file system is an error.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_root
requires_program losetup

cd "$dir"
# The length of a device is a multiple of 512 bytes.
make_good good
truncate -s 4194816 good
make_manifest good

# attach FILE [OPTION]...: sets $device to a loop device, or skips the test.
attach () {
  device=$(losetup --find --show "$@" 2> losetup.log) ||
    skip "no loop device: $(cat losetup.log)"
  at_exit "losetup -d $device"
}

# The page cache of the device has what was there before.
cp good disk
attach disk
cat "$device" > old
damage disk 3 30 64
repair 0 "$device: OK (3 blocks repaired)" --repair-from good "$device"
is_silent
same disk good
cmp "$device" good || fail "its page cache is stale"
repair 0 "$device: OK" --repair-from good "$device"

# A block of 512 bytes, and one that ends within a page.
blksum -b 512 --manifest small.blkm good > stdout
damage disk 3 64
run 0 blksum --expect manifest:small.blkm --expect-sum none \
  --repair-from good "$device"
same disk good

# From a device; the disk under another name.
cp good twin
attach twin
twin=$device
damage disk 5
repair 0 "disk: OK (1 block repaired)" --repair-from "$twin" disk
same disk good
damage twin 5
attach twin
for pair in "twin $twin" "$twin twin" "$twin $twin" "$twin $device"; do
  refuses "${pair% *}: is the disk that is to be repaired" blksum \
    --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
    --repair-from ${pair% *} ${pair#* }
done
node=$dir/node
mknod "$node" b $((0x$(stat -c %t "$twin"))) $((0x$(stat -c %T "$twin")))
if (: < "$node") 2> stderr; then
  refuses "$node: is the disk that is to be repaired" blksum \
    --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
    --repair-from "$node" "$twin"
fi

# A device that is read-only.
attach twin --read-only
run 2 blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from good "$device"
says_once "$device: cannot be written: the device is read-only$"
repair 1 "$device: FAILED (1 block repairable)" --dry-run --repair-from good "$device"

# Bytes that cannot be read, until they are written: the file of the device ends
# before them.  The last block is written, so the file gets all of them.
cp good disk
attach disk --direct-io=on
truncate -s 3932160 disk
if ! cat "$device" > old 2> read.log; then
  leaves_alone disk refuses "cannot read the last bytes: .*; -f raw repairs it" \
    blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-from good \
    "$device"
  repair 1 "$device: FAILED (5 blocks repairable)" -f raw --dry-run --repair-from \
    good "$device"
  is_silent
  leaves_alone disk refuses "more than 7.6% of its blocks are bad: 5 of the first" \
    blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 7.6% \
    -f raw --repair-from good "$device"
  repair 0 "$device: OK (5 blocks repaired)" --repair-limit 7.7% \
    -f raw --repair-from good "$device"
  is_silent
  same disk good
fi

# A device that is replaced under the same number while it is read.
truncate -s 300m large
write_data large 0 100000
write_data large 200000000 100000
blksum --manifest large.blkm large > stdout
cp large bad
write_data bad 7000 100
cp bad other
device=$(losetup --find --show bad)
at_exit "[ -e $dir/detached ] || losetup -d $device"
midway "losetup -d $device; : > detached
    losetup $device other 2> losetup.log && : > replaced || :" \
  --no-extents --expect manifest:large.blkm --expect-sum none --repair-from large \
  "$device" > stdout 2> stderr || fail "exit status $?"
[ "$(cat stdout)" = "$device: OK (1 block repaired)" ] || fail "not repaired"
[ ! -e replaced ] || fail "the device was replaced"
same bad large

# A device that is mounted, and with --size one that is larger.
requires_program mkfs.ext4 unshare
truncate -s 16m fs
requires mkfs.ext4 -q fs
blksum --manifest fs.blkm fs > stdout
cp fs good.fs
damage fs 200
cp fs bad.fs
cat > mounted << 'END'
mkdir -p at
mount -o ro,noload "$1" at
status=0
blksum --expect manifest:fs.blkm --expect-sum none --repair-from good.fs "$1" ||
  status=$?
umount at
exit $status
END
attach fs
if mkdir probe && unshare --mount mount -o ro,noload "$device" probe 2> mount.log
then
  run 2 unshare --mount sh mounted "$device"
  says_once "$device: is in use: mounted, a part of another device, or opened"
  same fs bad.fs
fi
run 0 blksum --expect manifest:fs.blkm --expect-sum none --repair-from good.fs \
  "$device"
same fs good.fs

# A file system without room for a block that was a hole.
cat > full << 'END'
mkdir -p at
mount -t tmpfs -o size=1m none at
truncate -s 4194816 at/disk
head -c 2m /dev/zero > at/filler 2> /dev/null
status=0
blksum --expect manifest:good.blkm --expect-sum "$1" --repair-limit 100% \
  --repair-from good at/disk || status=$?
blksum at/disk > sum
umount at
exit $status
END
if unshare --mount mount -t tmpfs none probe 2> mount.log; then
  run 2 unshare --mount sh full "$sum"
  says_once "at/disk: cannot write at offset 0: .*No space left"
  truncate -s 4194816 hole
  [ "$(cut -d ' ' -f 1 sum)" = "$(reference hole)" ] || fail "the disk changed"
fi

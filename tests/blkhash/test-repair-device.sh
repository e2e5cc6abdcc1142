#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair repairs block devices that are not in use, and not from
# themselves; a full file system is an error.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_loop

cd "$dir"
requires_direct
make_good good
make_manifest good

# The page cache of the device has what was there before.
cp good disk
attach_direct disk
cat "$device" > old
damage disk 3 30 64
repair 0 "$device: OK (3 blocks repaired)" --from good "$device"
is_silent
same disk good
cmp "$device" good || fail "its page cache is stale"
repair 0 "$device: OK" --from good "$device"

# A block that is smaller than those of the file system of its file.
blksum -b 512 --manifest small.blkm good > stdout
damage disk 3
run 1 blkhash repair --manifest small.blkm --sum none \
  --from good "$device"
says_once "$device: 512 bytes at 196608 differ; they cannot be written directly"
repair 0 "$device: OK (1 block repaired)" --from good "$device"
same disk good

# A device that begins within a block of the file system of its file.
truncate -s 512 shifted
cat disk >> shifted
attach_direct shifted --offset 512
leaves_alone shifted refuses \
  "$device: cannot be repaired: it begins within a unit in which '.*/shifted' is written" \
  by_good --from good "$device"

# A device that answers from the page cache of its file, and partitions of it.
cp good cached
damage cached 3
no_direct=$(loop_device --partscan cached)
at_exit "losetup -d $no_direct"
leaves_alone cached refuses \
  "$no_direct: cannot be repaired: it is on a loop device that answers from the page cache; use losetup --direct-io=on, or repair '.*/cached'" \
  by_good --from good "$no_direct"
if addpart "$no_direct" 1 0 8200 2> addpart.log && [ -b "${no_direct}p1" ]; then
  leaves_alone cached refuses \
    "${no_direct}p1: cannot be repaired: it is on a loop device that answers" \
    by_good --from good "${no_direct}p1"
  delpart "$no_direct" 1
else
  echo "no partition of a loop device is tested: $(cat addpart.log)"
fi

# A device whose file was removed, and another one that has the name in /sys.
cp good removed
attach_direct removed
rm removed
shown=$(cat "/sys/block/${device#/dev/}/loop/backing_file")
for other in absent present; do
  [ $other = absent ] || cp good "$shown"
  refuses "$device: cannot be repaired: the backing file of its loop device, '.*/removed.*', \(cannot be opened\|is another file now\)" \
    blkhash repair --manifest good.blkm --sum "$sum" --from good "$device"
done
says_once "is another file now$"

# A device whose file is on a file system that uses the page cache.
if [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
  shm=$(mktemp /dev/shm/blkhash-test-XXXXXX)
  at_exit "rm $shm"
  cp cached "$shm"
  if shm_device=$(loop_device --direct-io=on "$shm"); then
    at_exit "losetup -d $shm_device"
    leaves_alone "$shm" refuses "$shm_device: .*\(on its file system, of type 0x1021994,\|answers from the page cache\)" \
      by_good --from good "$shm_device"
  fi
fi

# From a device; the disk under another name.
cp good twin
attach_direct twin
twin=$device
damage disk 5
repair 0 "disk: OK (1 block repaired)" --from "$twin" disk
same disk good
damage twin 5
attach_direct twin
for pair in "twin $twin" "$twin twin" "$twin $twin" "$twin $device"; do
  refuses "${pair% *}: is the disk that is to be repaired" \
    by_good --from ${pair% *} ${pair#* }
done
node=$dir/node
mknod "$node" b $((0x$(stat -c %t "$twin"))) $((0x$(stat -c %T "$twin")))
if (: < "$node") 2> stderr; then
  refuses "$node: is the disk that is to be repaired" \
    by_good --from "$node" "$twin"
fi

# Two partitions of a loop device are two disks.
truncate -s 10m partitions
dd if=good of=partitions bs=1M seek=1 conv=notrunc status=none
dd if=good of=partitions bs=1M seek=6 conv=notrunc status=none
attach_direct partitions --partscan
if addpart "$device" 1 2048 8200 2> addpart.log &&
    addpart "$device" 2 12288 8200 2>> addpart.log && [ -b "${device}p2" ]; then
  damage partitions 19
  repair 0 "${device}p1: OK (1 block repaired)" --from "${device}p2" "${device}p1"
  dd if=partitions bs=1M skip=1 count=4198400 iflag=count_bytes status=none > part
  same part good
  refuses "${device}p1: is the disk that is to be repaired" \
    by_good --from "${device}p1" "${device}p1"
  delpart "$device" 1
  delpart "$device" 2
else
  echo "no partitions of a loop device are tested: $(cat addpart.log)"
fi

# A program that has the device open by a node of its own, as a guest of libvirt.
cp good disk
attach_direct disk
damage disk 3
cat > holder << 'END'
mount -t tmpfs none private && mknod private/vda b "$1" "$2" || exit 1
exec "$3" -c 'import time
disk = open("private/vda", "r+b")
print("open", flush=True)
time.sleep(600)'
END
mkdir private
unshare --mount sh holder $((0x$(stat -c %t "$device"))) $((0x$(stat -c %T "$device"))) \
  "$PYTHON" > opened 2> holder.log &
holder=$!
kill_at_exit $holder
if wait_until test -s opened -o ! -d "/proc/$holder" && [ -s opened ]; then
  leaves_alone disk refuses \
    "$device: is in use: process $holder (python[^)]*) has it open for writing$" \
    by_good --from good "$device"
  kill $holder
  wait $holder 2> /dev/null || :
else
  echo "no private node is tested: $(cat holder.log)"
fi
repair 0 "$device: OK (1 block repaired)" --from good "$device"
same disk good

# A device that is read-only.
attach_direct twin --read-only
run 2 by_good --from good "$device"
says_once "$device: cannot be written: the device is read-only$"
repair 1 "$device: FAILED (1 block repairable)" --dry-run --from good "$device"

# Bytes that cannot be read, because the file of the device ends before them.
cp good disk
attach_direct disk
truncate -s 3932160 disk
if ! cat "$device" > old 2> read.log; then
  leaves_alone disk refuses "cannot read the last bytes: .*; -f raw repairs it" \
    blkhash repair --manifest good.blkm --sum "$sum" --from good \
    "$device"
  leaves_alone disk refuses "$device: cannot read at offset" \
    by_good -f raw --from good "$device"
fi

# A device that is replaced under the same number, or opened exclusively, while it is
# read.
truncate -s 300m large
write_data large 0 100000
write_data large 200000000 100000
blksum --manifest large.blkm large > stdout
cp large bad
write_data bad 7000 100
cp bad other
device=$(loop_device --direct-io=on bad)
at_exit "[ -e $dir/detached ] || losetup -d $device"
midway "$PYTHON -c 'import os; os.open(\"$device\", os.O_EXCL)' 2> open.log && : > shared
    losetup -d $device; : > detached
    losetup --direct-io=on $device other 2> losetup.log && : > replaced || :" \
  blkhash repair --no-extents --manifest large.blkm --sum none --from large \
  "$device" > stdout 2> stderr || fail "exit status $?"
[ "$(cat stdout)" = "$device: OK (1 block repaired)" ] || fail "not repaired"
[ ! -e replaced ] || fail "the device was replaced"
[ ! -e shared ] || fail "the device is not in exclusive use"
grep -q "busy" open.log || fail "not tried: $(cat open.log)"
same bad large

# The node is replaced by that of another device while it is read.
attach_direct bad
number="$((0x$(stat -c %t "$device"))) $((0x$(stat -c %T "$device")))"
node=$dir/replaced-node
mknod "$node" b $number
if (: < "$node") 2> stderr; then
  write_data bad 7000 100
  cp bad before
  status=0
  midway "rm $node; mknod $node b $((0x$(stat -c %t "$twin"))) $((0x$(stat -c %T "$twin")))" \
    blkhash repair --no-extents --manifest large.blkm --sum none --from large \
    "$node" > stdout 2> stderr || status=$?
  [ $status = 2 ] || fail "exit status $status"
  says_once "$node: was replaced by another file$"
  same bad before
fi

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
blkhash repair --manifest fs.blkm --sum none --from good.fs "$1" ||
  status=$?
umount at
exit $status
END
attach_direct fs
if mkdir probe && unshare --mount mount -o ro,noload "$device" probe 2> mount.log
then
  run 2 unshare --mount sh mounted "$device"
  says_once "$device: is in use: mounted, a part of another device, or opened"
  same fs bad.fs
fi
run 0 blkhash repair --manifest fs.blkm --sum none --from good.fs \
  "$device"
same fs good.fs

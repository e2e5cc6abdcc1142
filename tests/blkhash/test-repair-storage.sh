#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair says that a block is good only if the storage has it, and
# not if only the page cache has it: a write that is lost below the file system,
# the state after a sync that failed, a sync that fails, and pages that another
# program has read.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_root
requires_program losetup mkfs.ext4 strace unshare
[ -z "$wrapper" ] || skip "no strace in valgrind"
requires_no_sanitizer "no strace with sanitizers"
requires strace -f -o "$dir/tmp/log" true

cd "$dir"
requires_direct
make_good good
make_manifest good

# A file system in the file "storage", whose blocks are those of the loop device.
truncate -s 64m storage
requires mkfs.ext4 -q -b 4096 storage
attach_direct storage
mkdir fs
mount "$device" fs 2> mount.log || skip "cannot mount: $(cat mount.log)"
at_exit "umount $dir/fs"

# Writes of 4 MiB make large folios, which extend beyond a block.
dd if=good of=fs/disk bs=4M status=none
sync fs/disk
cat > where.py << 'END'
import fcntl, struct, sys
with open("fs/disk", "rb") as f:
    print(struct.unpack("i", fcntl.ioctl(f, 1, struct.pack("i", int(sys.argv[1]))))[0])
END
# Block 3 of the disk is here, in pages.
at=$("$PYTHON" where.py 48) || skip "no FIBMAP"
dd if=good of=block bs=64k skip=3 count=1 status=none

# storage_has: the storage has the good block.
storage_has () {
  dd if=storage bs=4k skip="$at" count=16 status=none | cmp -s - block
}
storage_has || skip "the block is not where FIBMAP says"

# spoil: the storage has another block, and the page cache the good one.
spoil () {
  printf damaged | dd of=storage bs=4k seek="$at" conv=notrunc status=none
}

# after_sync COMMAND: repairs the disk, and runs COMMAND after each sync, before
# blksum continues.  Sets $status.
after_sync () {
  rm -f trace
  strace -f -qq -o trace -e trace=fdatasync -e inject=fdatasync:signal=SIGSTOP \
    blkhash repair --manifest good.blkm --sum "$sum" --limit 50% \
    --from good fs/disk > stdout 2> stderr &
  tracer=$!
  stops=0
  while kill -0 $tracer 2> kill.log; do
    # Other threads stop, too.
    caller=$(sed -n "/ fdatasync(/{s/ .*//p;q}" trace 2> sed.log || :)
    stopped=$(sed -n "/^$caller .*stopped by SIGSTOP/s/ .*//p" trace 2> sed.log |
      sed -n "$((stops + 1))p")
    if [ -n "$stopped" ]; then
      "$@"
      stops=$((stops + 1))
      kill -CONT "$stopped"
    fi
    sleep 0.05
  done
  status=0
  wait $tracer || status=$?
}

# ---- A write that is lost ----

damage fs/disk 3
sync fs/disk
after_sync spoil
[ $stops -gt 1 ] || fail "no sync"
[ $status = 1 ] || fail "exit status $status"
[ "$(cat stdout)" = "fs/disk: FAILED (1 block failed)" ] || fail "not FAILED"
says_once "fs/disk: 65536 bytes at 196608 differ; they were written, and are still bad"
! storage_has || fail "the storage has it"

# The same command again, with a storage that works.
repair 0 "fs/disk: OK (1 block repaired)" --from good fs/disk
is_silent
storage_has || fail "the storage does not have it"
repair 0 "fs/disk: OK" --from good fs/disk

# ---- A sync that failed: the pages are clean, and the storage is old ----

dd if=good of=fs/disk bs=4M conv=notrunc status=none
sync fs/disk
spoil
repair 1 "fs/disk: FAILED (1 block repairable)" --dry-run --from good fs/disk
repair 0 "fs/disk: OK (1 block repaired)" --from good fs/disk
is_silent
storage_has || fail "the storage does not have it"

# ---- A sync that fails ----

# with_error WHICH: repairs the disk with EIO for this call of fdatasync.
with_error () {
  run 2 strace -f -qq -o trace -e trace=fdatasync \
    -e inject=fdatasync:error=EIO:when="$1" blkhash repair --manifest good.blkm \
    --sum "$sum" --limit 50% --from good fs/disk
  says_once "fs/disk: cannot flush what was written: Input/output error"
}

# Nothing is bad: what was read could be only in the cache.
with_error 1
damage fs/disk 3 9
sync fs/disk
with_error 2
says_once "; 1 block was written, and not verified$"
repair 0 "fs/disk: OK (1 block repaired)" --from good fs/disk
same fs/disk good

# --dry-run does not flush.
damage fs/disk 3
sync fs/disk
run 1 strace -f -qq -o trace -e trace=fdatasync -e inject=fdatasync:error=EIO \
  blkhash repair --manifest good.blkm --sum "$sum" --limit 50% --dry-run \
  --from good fs/disk
[ ! -s trace ] || fail "it is flushed"
repair 0 "fs/disk: OK (1 block repaired)" --from good fs/disk

# ---- The device of the file system cannot be opened, or its node is another device ----

damage fs/disk 3
truncate -s 1m another
other=$(loop_device another)
at_exit "losetup -d $other"
for change in "mount -t tmpfs none /dev" "mount --bind $other $device"; do
  leaves_alone fs/disk run 2 unshare --mount sh -c "$change && exec \"\$@\"" sh \
    blkhash repair --manifest good.blkm --sum "$sum" --limit 50% \
    --from good fs/disk
  says_once "fs/disk: cannot be repaired: the backing file of its loop device, '.*/storage', may be another file: the device cannot be opened$"
done
repair 0 "fs/disk: OK (1 block repaired)" --from good fs/disk

# ---- A page that another program has read and locked ----

cat > holder.py << 'END'
import ctypes, mmap, sys, time
libc = ctypes.CDLL(None, use_errno=True)
with open("fs/disk", "r+b") as f:
    page = mmap.mmap(f.fileno(), mmap.PAGESIZE, offset=196608)
    page.madvise(mmap.MADV_RANDOM)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if libc.mlock(ctypes.c_void_p(address), mmap.PAGESIZE) != 0:
        sys.exit("mlock")
open("held", "w").write("held")
time.sleep(600)
END
# The first sync is before the disk is read, the second after the write.
hold () {
  [ $stops = 1 ] || return 0
  "$PYTHON" holder.py &
  holder=$!
  at_exit "kill $holder 2> kill.log || :; wait $holder || :" # before umount
  wait_until test -s held
}
damage fs/disk 3
sync fs/disk
after_sync hold
[ $stops = 2 ] || fail "not two syncs"
[ $status = 2 ] || fail "exit status $status"
says_once "fs/disk: was written at offset 196608, but another program has read or written this range, through the page cache: .*; 1 block was written, and not verified"
storage_has || fail "the storage does not have it"
kill $holder
wait $holder 2> /dev/null || :
repair 0 "fs/disk: OK" --from good fs/disk

# ---- A file system whose data is in the journal ----

truncate -s 64m storage2
mkfs.ext4 -q storage2
attach_direct storage2
mkdir journal
if mount -o data=journal "$device" journal 2> mount.log; then
  at_exit "umount $dir/journal"
  cp good journal/disk
  damage journal/disk 3
  leaves_alone journal/disk refuses \
    "journal/disk: cannot be repaired: the kernel does not say that direct I/O of this file bypasses the page cache" \
    by_good --from good journal/disk
else
  echo "no file system with data=journal is tested: $(cat mount.log)"
fi

# ---- A file system without room for a block that was a hole ----

truncate -s 4198400 fs/hole
dd if=/dev/zero of=fs/filler bs=64k 2> filler.log || :
run 2 blkhash repair --manifest good.blkm --sum "$sum" --limit 100% \
  --from good fs/hole
says_once "fs/hole: cannot write at offset [0-9]*: .*No space left"
rm fs/filler
repair 0 "fs/hole: OK (49 blocks repaired)" --limit 100% --from good \
  fs/hole
same fs/hole good

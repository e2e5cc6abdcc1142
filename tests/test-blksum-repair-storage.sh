#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --repair-from says that a block is good only if the storage has it, and
# not if only the page cache has it: a write that is lost below the file system,
# the state after a sync that failed, and a sync that fails.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_root
requires_program losetup mkfs.ext4 strace
[ -z "$wrapper" ] || skip "no strace in valgrind"
[ "$SANITIZE" = no ] || skip "no strace with sanitizers"
requires strace -f -o "$dir/tmp/log" true

cd "$dir"
make_good good
make_manifest good

# A file system in the file "storage", whose blocks are those of the loop device.
truncate -s 64m storage
requires mkfs.ext4 -q -b 4096 storage
device=$(losetup --find --show storage 2> losetup.log) ||
  skip "no loop device: $(cat losetup.log)"
at_exit "losetup -d $device"
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
    blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
    --repair-from good fs/disk > stdout 2> stderr &
  tracer=$!
  stops=0
  while kill -0 $tracer 2> kill.log; do
    stopped=$(grep 'stopped by SIGSTOP' trace 2> grep.log | sed 's/ .*//' | sed -n "$((stops + 1))p")
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
[ $stops -gt 0 ] || fail "no sync"
[ $status = 1 ] || fail "exit status $status"
[ "$(cat stdout)" = "fs/disk: FAILED (1 block failed)" ] || fail "not FAILED"
says_once "fs/disk: 65536 bytes at 196608 were written, and are still bad"
! storage_has || fail "the storage has it"

# The same command again, with a storage that works.
repair 0 "fs/disk: OK (1 block repaired)" --repair-from good fs/disk
is_silent
storage_has || fail "the storage does not have it"
repair 0 "fs/disk: OK" --repair-from good fs/disk

# ---- A sync that failed: the pages are clean, and the storage is old ----

dd if=good of=fs/disk bs=4M conv=notrunc status=none
sync fs/disk
spoil
cmp good fs/disk || skip "the pages are not cached"
repair 1 "fs/disk: FAILED (1 block repairable)" --dry-run --repair-from good fs/disk
repair 0 "fs/disk: OK (1 block repaired)" --repair-from good fs/disk
is_silent
storage_has || fail "the storage does not have it"

# ---- A sync that fails ----

# with_error WHICH: repairs the disk with EIO for this call of fdatasync.
with_error () {
  run 2 strace -f -qq -o trace -e trace=fdatasync \
    -e inject=fdatasync:error=EIO:when="$1" blksum --expect manifest:good.blkm \
    --expect-sum "$sum" --repair-limit 50% --repair-from good fs/disk
  says_once "fs/disk: cannot write what is cached to the storage: Input/output error"
}

# Nothing is bad: what was read could be only in the cache.
with_error 1
damage fs/disk 3 9
sync fs/disk
with_error 2
says_once "; 2 blocks were written, and not verified"
repair 0 "fs/disk: OK" --repair-from good fs/disk
same fs/disk good

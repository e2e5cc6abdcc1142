#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair writes nothing if anything indicates a mistake: it says what, and
# exits with status 2.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

cd "$dir"
requires_direct
make_good good
make_manifest good
cp good disk
damage disk 3
cp disk bad
zeros=$(echo "$sum" | sed 's/= .*/= /')$(echo "${sum##* }" | tr 0-9a-f 0)

# not REGEX ARGUMENT...: refused, and the disk is as before.
not () {
  leaves_alone disk refuses "$@"
}
# no REGEX ARGUMENT...: the same with the sum and the limit.
no () {
  says=$1
  shift
  not "$says" by_good --from good "$@"
}

# ---- The command line ----

from="--from good disk"
not "--sum SUM is missing: it proves the manifest" \
  blkhash repair --manifest good.blkm $from
not "--manifest FILE is missing" blkhash repair --sum "$sum" $from
not "--from SRC is missing" blkhash repair --manifest good.blkm --sum none disk
no "one" disk good
for share in 5 101% -1% x%; do
  no "is not a number from 0 to 100" --limit "$share" disk
done

# ---- The manifest ----

# A digest that is not cryptographic: a source could have other content with it.
# (One that has been broken, such as md5, is not refused.)
for digest in xxh64 xxh3-128; do
  blksum -l | grep -q -x $digest || continue
  weak=$(blksum -d $digest --tag --no-names --manifest $digest.blkm good)
  not "$digest.blkm: its digest, $digest, detects only accidental changes: " \
    blkhash repair --manifest $digest.blkm --sum "$weak" --limit 50% $from
  leaves_alone disk run 1 blkhash repair --manifest $digest.blkm --sum "$weak" \
    --limit 50% --dry-run $from
  grep -q "^disk: FAILED (1 block repairable)$" stdout || fail "not what is repairable"
done

sums="$zeros|blk-sha256/4k:${sum##* }|blk-md5/64k:d41d8cd98f00b204e9800998ecf8427e"
sums="$sums|sha256:${sum##* }|${sum##* }0|x|"
echo "$sums" | tr '|' '\n' > sums
while IFS= read -r wrong; do
  not "good.blkm: \(its sum is not\|its digest, block size or\|--sum: \)" \
    blkhash repair --manifest good.blkm --sum "$wrong" $from
done < sums
# The disk is not even opened.
refuses "good.blkm: its sum is not that of --sum" \
        blkhash repair --manifest good.blkm --sum "$zeros" --from good none
# Digits alone are a sum by the default digest.
for kind in "-b 4k" "-d blake2b512" "-d sha256/64k/s8"; do
  blksum $kind --manifest kind.blkm good > stdout
  read -r hex name < stdout
  not "kind.blkm: \(its digest, block size or construction is not that of\|--sum: it has 128 digits\)" \
    blkhash repair --manifest kind.blkm --sum "$hex" --limit 50% $from
done
head -c 300 good.blkm > cut
not "cut: " blkhash repair --manifest cut --sum none $from
mkdir parts
blkhash parts --part 0/2 good parts
not "it has only a part of an image" blkhash repair \
  --manifest parts/part-000000-of-000002.blkm --sum none $from
not "none: .*No such file" \
  blkhash repair --manifest none --sum none $from
mkfifo fifo
not "fifo: not a regular file" \
  blkhash repair --manifest fifo --sum none $from
not "-: .*must be a regular file" \
  blkhash repair --manifest - --sum none $from < good.blkm
not "good: not a blkhash manifest" \
  blkhash repair --manifest good --sum none $from
if blksum -l | grep -q -x null; then
  blksum -d null --manifest null.blkm good > stdout
  not "a digest whose length is zero" \
    blkhash repair --manifest null.blkm --sum none $from
fi

# ---- The disk ----

# The same with disks that the function does not see.
cat good - > larger << 'MORE'
more
MORE
head -c 4194304 good > smaller
for other in larger smaller; do
  cp $other before-$other
  damage $other 3
  cp $other $other.bad
done
no "larger: has 4198405 bytes, but the image of the manifest has 4198400; --size" \
  larger
no "smaller: has 4194304 bytes, but the image of the manifest has 4198400$" smaller
no "larger: --size is 4198401 bytes, but the image of the manifest has 4198400$" \
  --size 4198401 larger
no "smaller: has only 4194304 bytes, fewer than the 4198400 of --size" \
  --size 4198400 smaller
same larger larger.bad
same smaller smaller.bad

no "-: standard input cannot be repaired" - < disk
# Without a writer.
no "fifo: cannot be repaired: it is not a regular file or block device" fifo
mkdir folder
no "folder: cannot be repaired: it is not a regular file or block device" folder
no "none: cannot open: No such file" none
if [ "$(id -u)" != 0 ]; then
  chmod a-w disk
  no "disk: cannot open for writing: Permission denied" disk
  repair 1 "disk: FAILED (1 block repairable)" --dry-run --from good disk
  chmod u+w disk
fi

# More bad blocks than the limit.
cp good other
write_data other 65536 2000000
cp other other.before
leaves_alone other refuses \
  "other: [0-9]* of its first [0-9]* blocks differ, more than 1% of the 49 with data in the manifest: it may be another disk; nothing was written; --limit" \
  blkhash repair --manifest good.blkm --sum "$sum" --from good other
leaves_alone other refuses "other: 17 of its first .* more than 33.3% of the 49" \
  blkhash repair --manifest good.blkm --sum "$sum" --from good --limit 33.3% other
leaves_alone disk refuses "disk: 1 of its first 4 blocks differs, more than 0% of" \
  blkhash repair --manifest good.blkm --sum "$sum" --from good --limit 0% disk

# ---- The sources ----

ln -s disk link
ln disk hard
for same in disk ./disk "$dir/disk" link hard; do
  no "$same: is the disk that is to be repaired" --from "$same" disk
done
no "disk: is the disk that is to be repaired" --from disk hard
no "absent: cannot open" --from absent disk
no "fifo: is not a regular file or block device" --from fifo disk
no "folder: is not a regular file or block device" --from folder disk
no "-: standard input cannot be opened again" --from - disk < good

# Nothing above changed it.
same disk bad
repair 0 "disk: OK (1 block repaired)" --from good --limit 1% disk

# A limit for the size of files is an error, and not a signal.
cp bad disk
leaves_alone disk refuses "disk: cannot write at offset 196608: File too large$" \
  env GCOV_PREFIX=/dev/null sh -c 'ulimit -f 64 && exec "$@"' sh blkhash repair \
  --manifest good.blkm --sum "$sum" --from good --limit 50% disk

# ---- Locks ----

# The lock of a reader that does not share the disk with writers.
cp bad disk
hold_lock disk
for option in "" --dry-run --force-share; do
  no "disk: is in use by another program, which reads or writes it" $option disk
done
release

# The lock of a writer, of a program that resizes the disk, and of one that does not
# share it with readers.
for byte in 101 103 200; do
  hold_lock disk $byte
  no "disk: is in use by another program, which reads or writes it" disk
  release
done
# The lock of a reader.
hold_lock disk 100
repair 1 "disk: FAILED (1 block repairable)" --dry-run --from good disk
release

# A program that has it open, for writing or not, and takes no lock.
for mode in r+b rb; do
  hold disk $mode
  if [ $mode = rb ]; then
    repair 1 "disk: FAILED (1 block repairable)" --dry-run --from good disk
  else
    no "disk: is in use: process $holder ([^)]*) has it open for writing$" disk
    # This is checked before the disk is read.
    no "disk: is in use: process $holder " --size 4198401 disk
    no "disk: is in use: process $holder ([^)]*) has it open for writing$" \
      --dry-run disk
  fi
  release
done

requires_qemu
qemu-img convert -f raw -O qcow2 disk disk.qcow2
cp disk.qcow2 before.qcow2
no "disk.qcow2: its format is qcow2, and only raw disks can be repaired" disk.qcow2
no "disk.qcow2: its format is qcow2, and only" -f qcow2 disk.qcow2
same disk.qcow2 before.qcow2
# The option -f is about the sources.
qemu-img convert -f raw -O qcow2 good good.qcow2
run 0 by_good --dry-run -f qcow2 --from good.qcow2 good

# A raw disk to which a guest wrote such a header.
blksum -f raw --manifest headed.blkm disk.qcow2 > stdout
damage disk.qcow2 3
run 0 blkhash repair -f raw --manifest headed.blkm --sum none \
  --from before.qcow2 disk.qcow2
same disk.qcow2 before.qcow2

# in_use: starts a server of the disk.
in_use () {
  qemu-nbd -f raw -t -k "$dir/qemu.sock" --pid-file "$dir/qemu.pid" disk &
  kill_at_exit $!
  wait_until test -s "$dir/qemu.pid"
}
free () {
  server=$(cat "$dir/qemu.pid")
  rm -f "$dir/qemu.pid" "$dir/qemu.sock"
  kill "$server"
  wait_for_exit "$server"
}
in_use
no "disk: is in use by another program" disk
no "disk: is in use by another program" -U disk
free

# A source that is in use: only with --force-share.
cp good disk
damage good 9
cp good twin
damage twin 3
in_use
run 2 by_good --from disk twin
says_once "disk: is in use by another program"
run 0 by_good -U --from disk twin
same twin disk
free

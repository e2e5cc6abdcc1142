#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair replaces bad blocks by those of the sources that have the
# digest in the manifest, and says what remains bad.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

cd "$dir"
requires_direct
make_good good
make_manifest good

# A good disk is not opened for writing.
cp good disk
leaves_alone disk repair 0 "disk: OK" --from good disk
is_silent

# Data, the short last block, zeros, and neighbours.
damage disk 0 5 6 30 64
cp disk damaged
repair 0 "disk: OK (5 blocks repaired)" --from good disk
is_silent
same disk good
repair 0 "disk: OK" --from good disk

# One bad block, of other data or of zeros.
damage disk 7
repair 0 "disk: OK (1 block repaired)" --from good disk
same disk good
write_zeros disk 524288 65536
repair 0 "disk: OK (1 block repaired)" --from good disk
same disk good

# --dry-run writes nothing; what must be zero needs no source.
cp damaged disk
cp good twin
damage twin 5
leaves_alone disk repair 1 "disk: FAILED (4 blocks repairable, 1 without a source)" \
  --dry-run --from twin disk
says_once "disk: 65536 bytes at 327680 differ; no source has them$"
leaves_alone disk repair 1 "disk: FAILED (5 blocks repairable)" --dry-run \
  --from good disk
is_silent

# Two damaged twins repair each other, except for what is bad in both.
cp good a
cp good b
damage a 1 2 3
damage b 3 4 5
printf 'in another way' | dd of=b bs=1 seek=200000 conv=notrunc status=none
cp a a.expected
cp b b.expected
for block in 1 2; do
  dd if=good of=a.expected bs=64k skip=$block seek=$block count=1 conv=notrunc status=none
done
for block in 4 5; do
  dd if=good of=b.expected bs=64k skip=$block seek=$block count=1 conv=notrunc status=none
done
repair 1 "a: FAILED (2 blocks repaired, 1 without a source)" --from b a
says_once "a: 65536 bytes at 196608 differ; no source has them$"
repair 1 "b: FAILED (2 blocks repaired, 1 without a source)" --from a b
same a a.expected
same b b.expected
repair 1 "a: FAILED (1 block without a source)" --from b a
repair 0 "a: OK (1 block repaired)" --from b --from good a
same a good

# Sources of other sizes, another snapshot, and one with nothing.
head -c 330000 good > short
cat good - > long << 'MORE'
what follows
MORE
: > empty
cp good snapshot
write_data snapshot 0 327680
for source in short long empty snapshot; do
  cp good disk
  damage disk 2 5 64
  status=1
  case $source in
    short) output="FAILED (1 block repaired, 2 without a source)" ;;
    long) output="OK (3 blocks repaired)" status=0 ;;
    empty) output="FAILED (3 blocks without a source)" ;;
    snapshot) output="OK (3 blocks repaired)" status=0 ;;
  esac
  [ $source != snapshot ] || damage snapshot 9
  repair $status "disk: $output" --from $source disk
done
same disk good
cp good disk
damage disk 2 5 64
repair 0 "disk: OK (3 blocks repaired)" --from empty --from short \
  --from long disk
is_silent
same disk good

# The image is on a larger disk, whose trailing data remains.
cat good - > larger << 'MORE'
what follows the image on its disk
MORE
cp larger disk
damage disk 2 64
repair 0 "disk: OK (2 blocks repaired)" --size 4198400 --from good disk
same disk larger

# JSON.
cp damaged disk
repair 0 '{"name":"disk","ranges":[{"start":0,"length":65536,"result":"repaired"},{"start":327680,"length":131072,"result":"repaired"},{"start":1966080,"length":65536,"result":"repaired"},{"start":4194304,"length":4096,"result":"repaired"}],"result":"ok"}' \
  --output=json --from good disk
is_silent
repair 0 '{"name":"disk","ranges":[],"result":"ok"}' \
  --output=json --from good disk
cp damaged disk
repair 1 '{"name":"disk","ranges":[{"start":0,"length":65536,"result":"differs","detail":"a source has them"},{"start":327680,"length":65536,"result":"differs","detail":"no source has them"},{"start":393216,"length":65536,"result":"differs","detail":"a source has them"},{"start":1966080,"length":65536,"result":"differs","detail":"a source has them"},{"start":4194304,"length":4096,"result":"differs","detail":"a source has them"}],"result":"differs"}' \
  --output=json --dry-run --from twin disk
is_silent
repair 2 '{"name":"disk","error":"'"'gone'"': cannot open: No such file or directory","result":"unknown"}' \
  --output=json --from gone disk

# The sum in its other forms.
for expected in "blk-sha256/64k:${sum##* }" "${sum##* }" none; do
  cp damaged disk
  run 0 blkhash repair --manifest manifest:good.blkm --sum "$expected" \
    --limit 50% --from good disk
  same disk good
done

# Other blocks, digests and constructions.
for kind in "-b 4k" "-b 1m -d sha512" "-b 16m" "-d sha256/64k/s64" \
            "-d sha1/8k/linear"; do
  every 1 2 || continue
  blksum $kind --manifest other.blkm good > stdout
  cp damaged disk
  run 0 blkhash repair --manifest other.blkm --limit 100% \
    --sum "$(blksum --tag --no-names $kind good)" --from twin --from good disk
  same disk good
done

# Large blocks.
truncate -s 40m large
write_data large 0 200000
write_data large 36000000 200000
blksum -b 16m --manifest 16m.blkm large > stdout
cp large large.bad
damage large.bad 0 256 512
run 0 blkhash repair --manifest 16m.blkm --limit 100% --sum none \
  --from large large.bad
[ "$(cat stdout)" = "large.bad: OK (3 blocks repaired)" ] || fail "not repaired"
same large.bad large

# Blocks that direct I/O cannot write are not written.
for size in 4 512; do
  blksum -b $size --manifest other.blkm good > stdout
  cp damaged disk
  leaves_alone disk run 1 blkhash repair --manifest other.blkm --limit 100% \
    --sum none --from good disk
  grep -q "^disk: FAILED ([0-9]* blocks unaligned)$" stdout || fail "not unaligned"
  grep -q "^blkhash: disk: .* bytes at .* cannot be written directly" stderr ||
    fail "not said"
done
{ cat good; echo more; } > odd
cp odd odd.bad
damage odd.bad 3
printf x | dd of=odd.bad bs=1 seek=4198401 conv=notrunc status=none
blksum --manifest odd.blkm odd > stdout
run 1 blkhash repair --manifest odd.blkm --limit 100% --sum none \
  --from odd odd.bad
[ "$(cat stdout)" = "odd.bad: FAILED (1 block repaired, 1 unaligned)" ] ||
  fail "not unaligned"
says_once "odd.bad: 4101 bytes at 4194304 differ; they cannot be written directly"
printf x > byte
cp odd odd.expected
dd if=byte of=odd.expected bs=1 seek=4198401 conv=notrunc status=none
same odd.bad odd.expected

# An empty disk.
: > nothing
blksum --manifest nothing.blkm nothing > stdout
run 0 blkhash repair --manifest nothing.blkm --sum none --from good \
  nothing

# Other formats as sources.
requires_qemu
qemu-img convert -f raw -O qcow2 long twin.qcow2
qemu-img convert -c -f raw -O qcow2 long compressed.qcow2
qemu-img convert -f raw -O vdi long twin.vdi
for source in twin.qcow2 compressed.qcow2 twin.vdi; do
  cp damaged disk
  repair 0 "disk: OK (5 blocks repaired)" --from $source disk
  is_silent
  same disk good
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare finds where two images differ, in any combination of images and
# manifests.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

without_images='s/,"images":.*,"result"/,"result"/'

# compares STATUS RANGES A B [OPTION]...: in both directions; in the short form with
# -q in one direction only.  A range is START+LENGTH.
compares () {
  wanted=$1 a=$3 b=$4
  json=$(list_changes 0 $(echo "$2" | tr + ' ') | sed "$without_images")
  shift 4
  for order in "$a $b" "$b $a"; do
    run $wanted blkhash compare --output=json "$@" $order
    [ ! -s "$dir/stderr" ] || fail "unexpected message"
    [ "$(sed "$without_images" stdout)" = "$json" ] || fail "expected $json"
    is_long || [ "$order" = "$a $b" ] || continue
    run $wanted blkhash compare -q "$@" $order
    [ ! -s "$dir/stdout" ] && [ ! -s "$dir/stderr" ] || fail "not quiet"
  done
}

# all_kinds NAME [OPTION]...: makes other forms of the image NAME.raw, in
# $kinds.
all_kinds () {
  name=$1
  shift
  kinds="$name.raw manifest:$name.blkm"
  blksum "$@" --manifest $name.blkm $name.raw > /dev/null
  if [ -n "$with_qemu" ]; then
    qemu-img convert -f raw -O qcow2 $name.raw $name.qcow2
    kinds="$kinds $name.qcow2"
  fi
}
with_qemu=
if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
   command -v qemu-img > "$dir/stdout" && command -v qemu-nbd > "$dir/stdout"
then
  with_qemu=yes
fi

make_image a.raw
cp a.raw b.raw
printf x | dd of=b.raw bs=1 seek=70000 conv=notrunc status=none
write_data b.raw 3000000 200000         # where it was zero
write_zeros b.raw 5242880 4096          # where it was not
printf x | dd of=b.raw bs=1 seek=8388607 conv=notrunc status=none
all_kinds a
a_kinds=$kinds
all_kinds b
b_kinds=$kinds
differences="65536+65536 2949120+262144 5242880+65536 8323072+65536"
set -- $a_kinds
for a in $a_kinds; do
  for b; do
    compares 0 "" $a $b
  done
  shift
  for b in $b_kinds; do
    compares 1 "$differences" $a $b
  done
done
compares 1 "$differences" a.raw b.raw -t 1 --no-extents
compares 1 "$differences" a.raw b.raw -d md5/64k/s4
compares 1 "69632+4096 2998272+204800 5242880+4096 8384512+4096" a.raw b.raw \
  -d sha256/4k

# Each operand has its own format.
for format in nonsense "raw -F nonsense"; do
  refuses "unknown format 'nonsense'" blkhash compare -f $format a.raw b.raw
done
if [ -n "$with_qemu" ]; then
  run 0 blkhash compare -f raw -F qcow2 a.raw a.qcow2
  run 0 blkhash compare -f qcow2 -F raw a.qcow2 a.raw
  run 1 blkhash compare -f raw -F raw a.raw a.qcow2
fi

run 0 blkhash compare a.raw manifest:a.blkm
grep -qx "The images are identical." "$dir/stdout" ||
  fail "no message that they are identical"
run 1 blkhash compare a.raw manifest:b.blkm
[ "$(cat "$dir/stdout")" = "65536 bytes at 65536 differ
262144 bytes at 2949120 differ
65536 bytes at 5242880 differ
65536 bytes at 8323072 differ" ] || fail "the lines differ"

# A manifest that another process writes into a pipe.
run 1 sh -c 'blksum --manifest - a.raw |
             blkhash compare --output=json manifest:- b.raw'
refcompare a.raw b.raw
found_so

# Leaves of other hash specs; constructions may differ.
for options in "-d sha256/4k" "-d sha512" "-d md5/1m"; do
  blksum $options --manifest other.blkm a.raw > /dev/null
  compares 0 "" a.raw manifest:other.blkm
  compares 0 "" a.raw manifest:other.blkm $options
  refuses "manifest of blk-.* cannot be compared with blk-sha256/64k" \
          blkhash compare manifest:a.blkm manifest:other.blkm
  refuses "cannot be compared with" \
          blkhash compare -d sha1 a.raw manifest:other.blkm
done
for construction in linear s64; do
  blksum -d sha256/64k/$construction --manifest other.blkm a.raw > /dev/null
  compares 0 "" manifest:a.blkm manifest:other.blkm
  compares 0 "" manifest:other.blkm a.raw
done
# Only options that are given must agree with a manifest, not their defaults.
blksum -d sha512/4k --manifest other.blkm a.raw > /dev/null
for options in "-d sha512" "-d sha512/4k" "-d sha512/4k/linear" "-d sha512/4k/s4"; do
  compares 0 "" a.raw manifest:other.blkm $options
done
refuses "manifest of blk-sha512/4k, .* compared with blk-sha1/4k" \
        blkhash compare -d sha1 a.raw manifest:other.blkm
refuses "manifest of blk-sha512/4k, .* compared with blk-sha512/64k" \
        blkhash compare -d sha512/64k manifest:other.blkm a.raw
# Two manifests must agree in all of them.
blksum -d sha256/4k --manifest other.blkm a.raw > /dev/null
refuses "other.blkm: it is a manifest of blk-sha256/4k, .* with blk-sha256/64k" \
        blkhash compare -d sha256 manifest:a.blkm manifest:other.blkm
refuses "a digest whose length is zero" blkhash compare -d null a.raw b.raw

# Different sizes: beyond the end of the shorter image there are zeros.
for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size a.raw > short.raw
  for more in 1 511 65536 100000; do
    every 1 3 || continue
    cp short.raw long.raw
    truncate -s $((size + more)) long.raw
    compares 0 "" short.raw long.raw
    run 1 blkhash compare --strict short.raw long.raw
    [ "$(cat "$dir/stdout")" = \
      "The sizes differ: $size and $((size + more)) bytes." ] ||
      fail "the result of --strict differs"
    says_once "long.raw: has $((size + more)) bytes, short.raw $size; --size \
$size reads only these"
    compares 0 "" short.raw short.raw --strict
    printf x | dd of=long.raw bs=1 seek=$((size + more - 1)) conv=notrunc \
      status=none
    last=$(((size + more - 1) / 65536 * 65536))
    compares 1 "$last+$((size + more - last))" \
             short.raw long.raw
    # The same with a manifest of the longer one, to compare digests.
    blksum --manifest long.blkm long.raw > /dev/null
    compares 1 "$last+$((size + more - last))" \
             short.raw manifest:long.blkm
  done
done
# If one manifest ends within a block and the other does not, their digests of
# that block cannot be compared, unless one of them is zero.
head -c 70000 a.raw > short.raw
cp short.raw long.raw
truncate -s 200000 long.raw
blksum --manifest short.blkm short.raw > /dev/null
blksum --manifest long.blkm long.raw > /dev/null
compares 0 "" short.raw manifest:long.blkm
for long in long.raw manifest:long.blkm; do
  for pair in "manifest:short.blkm $long" "$long manifest:short.blkm"; do
    run 2 blkhash compare $pair
    says_once "cannot decide"
    grep -qx "The sizes differ: [0-9]* and [0-9]* bytes." stdout ||
      fail "no sizes"
  done
done
# That block is reported as different if the images differ elsewhere: so copying
# the reported ranges makes the images equal.
cp long.raw other.raw
printf x | dd of=other.raw bs=1 conv=notrunc status=none
compares 1 0+131072 manifest:short.blkm other.raw
head -c 190000 a.raw > third.raw
blksum --manifest third.blkm third.raw > /dev/null
cp third.raw fourth.raw
truncate -s 400000 fourth.raw
printf x | dd of=fourth.raw bs=1 conv=notrunc status=none
compares 1 "0+65536 131072+65536" manifest:third.blkm fourth.raw
truncate -s 70000 zero.raw
truncate -s 200000 zeros.raw
blksum --manifest zero.blkm zero.raw > /dev/null
compares 0 "" manifest:zero.blkm zeros.raw
compares 1 0+131072 manifest:zero.blkm long.raw
head -c 131072 a.raw > short.raw
blksum --manifest short.blkm short.raw > /dev/null
cp short.raw long.raw
truncate -s 200000 long.raw
compares 0 "" manifest:short.blkm long.raw

# The sum of this manifest would take weeks to compute: the first block differs,
# so it is not needed.
"$PYTHON" - > huge.blkm << 'END'
import sys
from refmanifest import ZERO, end, header, record
head = header("blk-sha256/64k", 2**63, 0, 2**47)
sys.stdout.buffer.write(head + record(0, 2**47 | ZERO, b"") +
                        end(head, 2**47, bytes(32)))
END
for order in "manifest:huge.blkm a.raw" "a.raw manifest:huge.blkm"; do
  run 1 timeout 300 blkhash compare -q $order
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
done

# One byte in 6 GiB.
truncate -s 6g c.raw
for at in 0 1000000000 3000000001; do
  write_data c.raw $at 100000
done
cp --sparse=always c.raw d.raw
printf x | dd of=d.raw bs=1 seek=4000000000 conv=notrunc status=none
all_kinds c
c_kinds=$kinds
all_kinds d
for c in $c_kinds; do
  for d in $kinds; do
    compares 1 3999989760+65536 $c $d
  done
done

# Operands that cannot be compared; the error names the right one.
refuses "none: cannot open" blkhash compare a.raw none
refuses "none: cannot open" blkhash compare none a.raw
refuses "manifest:none: cannot open" blkhash compare a.raw manifest:none
refuses "two images" blkhash compare a.raw
refuses "two images" blkhash compare a.raw b.raw c.raw
refuses "cannot read: Is a directory" blkhash compare a.raw "$dir"
head -c 700 a.blkm > cut.blkm
refuses "cut.blkm: the manifest is cut off" \
        blkhash compare manifest:cut.blkm a.raw
refuses "cut.blkm: the manifest is cut off" \
        blkhash compare manifest:a.blkm manifest:cut.blkm
corpus=$abs_top_srcdir/tests/fuzz/manifest
refuses "the sum of this manifest or of the other" \
  blkhash compare "manifest:$corpus/flat.blkm" "manifest:$corpus/wrong-sum.blkm"
refuses "part.blkm: .*part of an image" \
  blkhash compare "manifest:$corpus/flat.blkm" "manifest:$corpus/part.blkm"
refuses "a.blkm: .*looks like a manifest" blkhash compare a.blkm a.raw
: > large.raw
write_data large.raw 0 60000000
cp large.raw larger.raw
refuses "large.raw: .*changed" midway "touch large.raw" blkhash compare -t 1 \
        large.raw larger.raw
refuses "larger.raw: .*changed" midway "touch larger.raw" blkhash compare -t 1 \
        large.raw larger.raw
refuses "larger.raw: .*while it was read" midway "truncate -s 1m larger.raw" \
        blkhash compare -t 1 large.raw larger.raw

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --merge combines the manifests of all parts of an image: it writes the
# manifest that a single run writes, and prints its checksum.  If they are not
# all parts of one image, an error has the reason.

. "$(dirname "$0")/functions.sh"
cd "$dir"

# make_parts DIR N IMAGE [OPTION]...: makes N parts in DIR.
make_parts () {
  into=$1 n=$2 of_image=$3
  shift 3
  mkdir -p $into
  i=0
  while [ $i -lt $n ]; do
    blksum "$@" --part $i/$n --manifest-dir $into $of_image ||
      fail "part $i/$n of $of_image: $*"
    i=$((i + 1))
  done
}

# merges PART...: writes the manifest in $dir/expected, which a single run
# wrote, and prints its sum, $sum.
merges () {
  rm -f got
  prints_sum $sum blksum --merge "$@" --manifest got
  cmp expected got || fail "the manifest differs: $*"
  [ "$(stat -c %a got)" = 600 ] || fail "the mode is not 600"
  [ "$(cat stdout)" = "$sum  manifest:got" ] || fail "$(cat stdout)"
}

# merges_not REGEX PART...: an error, and an existing manifest is kept.
merges_not () {
  regex=$1
  shift
  cp before got
  refuses "$regex" blksum --merge "$@" --manifest got
  cmp before got || fail "the existing manifest was changed"
}

# whole IMAGE [OPTION]...: makes $dir/expected and $sum in a single run.
whole () {
  of_image=$1
  shift
  blksum "$@" --manifest expected $of_image > one
  sum=$(cut -d' ' -f1 one)
}

# all_numbers IMAGE [OPTION]...: with several numbers of parts.
all_numbers () {
  whole "$@"
  for n in 1 2 3 17; do
    every 3 5 || continue
    rm -rf parts
    make_parts parts $n "$@"
    merges parts/*
    merges $(ls -r parts/*)
  done
}

printf before | blksum --manifest before > one
make_image image
all_numbers image
[ $sum = "$(reference image)" ] || fail "the sum is not that of the reference"
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write image | cmp - got ||
  fail "the manifest is not that of the reference"
for options in "-b 4k" "-d sha512/1m/s64" "-d md5/512" \
               "-d sha256/64k/linear"; do
  all_numbers image $options
done
for size in 0 1 511 65537; do
  head -c $size image > short
  all_numbers short
  [ $sum = "$(reference short)" ] || fail "the sum is not that of the reference"
  all_numbers short -b 512
done
for digest in blake3 blake2b-256 null; do
  if blksum -l | grep -qx $digest; then
    head -c 20001 image > short
    whole short -b 512 -d $digest
    rm -rf parts
    make_parts parts 3 short -b 512 -d $digest
    rm -f got
    run 0 blksum --merge parts/* --manifest got
    cmp expected got || fail "the manifest differs: $digest"
    [ "$(cut -d' ' -f1 stdout)" = "$(reference -b 512 -d $digest short)" ] ||
      fail "the sum differs: $digest"
  fi
done

# 3 GiB and some bytes, with data where parts begin and end.
truncate -s 3221225985 large
for at in 0 1073700000 2147400000 3221200000; do
  write_data large $at 25000
done
all_numbers large
[ $sum = "$(reference large)" ] || fail "the sum is not that of the reference"

# Records of data are merged: there are more leaves than fit into one.
whole image -b 64 -d md5
rm -rf parts
make_parts parts 5 image -b 64 -d md5
merges parts/*

# ---- Output ----

whole image
rm -rf parts
make_parts parts 3 image
run 0 blksum --merge parts/* --manifest - --tag
cmp expected stdout || fail "the manifest on stdout differs"
blksum --merge parts/* --manifest - | cmp - expected ||
  fail "the manifest in a pipe differs"
run 0 blksum --tag --merge parts/* --manifest got
[ "$(cat stdout)" = "blk-sha256/64k (manifest:got) = $sum" ] || fail "no tag"
blksum --check stdout || fail "--check does not accept the output"
run 0 blksum --no-names --merge parts/* --manifest got
[ "$(cat stdout)" = $sum ] || fail "printed a name"
run 0 blksum --output=json --merge parts/* --manifest got
blksum --output=json manifest:got > one
sed 's/"seconds".*//' one > a
sed 's/"seconds".*//' stdout > b
cmp a b || fail "expected $(cat one)"
run 0 blksum --merge --manifest=got -d sha256 -b 64k -- parts/*

# ---- Duplicate parts ----

merges parts/* parts/*
merges parts/* $(ls -r parts/*) parts/*-000001-*
cp expected whole.blkm
merges whole.blkm
merges whole.blkm whole.blkm expected
make_parts many 64 image
merges many/* many/*[02468]-of-*

# ---- Parts that overlap ----

make_parts other 4 image
overlaps="overlaps .*: all parts must be made with the same N of --part I/N$"
for others in other "other/part-000002-of-000004.blkm" whole.blkm many; do
  if [ -d $others ]; then
    others=$(echo $others/*)
  fi
  merges_not "$overlaps" parts/* $others
  merges_not "$overlaps" $others parts/*
done
# The error names two parts that overlap.
run 2 blksum --merge parts/*-00000[02]-* other/*-000001-* --manifest got
says_once "other/part-000001-of-000004.blkm: overlaps parts/part-000000-of-0"
# An overlap is reported even if parts are missing.
merges_not "$overlaps" parts/*-000000-* other/*-000001-*
# A part without blocks was made with an N, too.
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write --part 200/400 image \
  > none.blkm
head -n 4 none.blkm | grep -aqx "blocks: 64:0" || fail "the part has blocks"
merges_not "none.blkm: $overlaps" parts/* none.blkm
# Blocks count, not file names: these parts are complete and do not overlap.
make_parts halves 2 image
merges halves/*-000000-* other/*-00000[23]-*

# The output can be one of the inputs.
cp parts/*-000001-* got
prints_sum $sum blksum --merge got parts/*-00000[02]-* --manifest got
cmp expected got || fail "the manifest differs"

# ---- Missing parts ----

first=parts/part-000000-of-000003.blkm
second=parts/part-000001-of-000003.blkm
third=parts/part-000002-of-000003.blkm
merges_not "got: the 2752512 bytes at 0 are in no part$" $second $third
merges_not "got: the 2818048 bytes at 2752512 are in no part$" $first $third
merges_not "got: the 2818048 bytes at 5570560 are in no part$" $first $second
merges_not "got: the 5570560 bytes at 0 are in no part$" $third $third
merges_not "got: the 2818048 bytes at 2752512 are in no part$" \
           $first $third $third $first
run 2 blksum --merge $second --manifest got
printf 'blksum: got: the %s bytes at %s are in no part\n' 2752512 0 \
  2818048 5570560 | cmp - stderr || fail "expected two messages: $(cat stderr)"
# A part without blocks does not divide a missing range.
merges_not "got: the 2818048 bytes at 2752512 are in no part$" \
           $first none.blkm $third
run 2 blksum --merge many/*[02468]-of-* --manifest got
[ "$(wc -l < stderr)" = 11 ] || fail "expected 11 lines: $(cat stderr)"
cp expected got
refuses "are in no part" blksum --merge $first --manifest -

# ---- Parts of other images ----

damage () {
  "$PYTHON" - "$1" "$2" << 'END'
import os, sys
f = open(sys.argv[1], "r+b")
at = int(sys.argv[2])
at = at if at >= 0 else os.path.getsize(sys.argv[1]) + at
f.seek(at)
byte = f.read(1)[0]
f.seek(at)
f.write(bytes([byte ^ 1]))
END
}
head -c 8000000 image > short
for of in "short" "image -d sha512" "image -b 4k" "image -d sha256/64k/s64" \
          "image -d sha256/64k/linear"; do
  rm -rf foreign
  make_parts foreign 3 $of
  merges_not "foreign/part-000001-.* is of another image than $first" \
             $first foreign/part-000001-* $third
  merges_not "$first: is of another image than foreign/part-000001-" \
             foreign/part-000001-* $first $third
done
merges_not "it is a manifest of blk-sha256/64k, not of blk-md5/64k" \
           -d md5 parts/*

# Parts of another disk of the same size are detected only if a block is in two
# parts.
cp image changed
printf x | dd of=changed bs=1 seek=3000000 conv=notrunc status=none
make_parts changed-parts 3 changed
changed=changed-parts/part-000001-of-000003.blkm
for again in "$changed" "changed-parts/*" "$second $changed $second"; do
  merges_not "differs from .* in the block at 2949120$" \
             parts/* $again
  merges_not "differs from .* in the block at 2949120$" \
             $again parts/*
done
grep -q "$changed.* $second" stderr || grep -q "$second.* $changed" stderr ||
  fail "the error does not name both: $(cat stderr)"
merges parts/* changed-parts/part-00000[02]-*
blksum --manifest changed.blkm changed > one
merges_not "differs from .* in the block at 2949120$" \
           whole.blkm changed.blkm

# ---- Damaged parts ----

for at in 0 100 511 512 530 -1 -9 -20; do
  every 1 2 || continue
  cp $second damaged
  damage damaged $at
  merges_not "damaged: " $first damaged $third
  # Even if there is an undamaged part of the same blocks.
  merges_not "damaged: " parts/* damaged
done
size=$(stat -c %s $first)
for cut in 0 17 511 512 600 $((size - 1)); do
  head -c $cut $first > damaged
  merges_not "damaged: " damaged $second $third
  merges_not "damaged: " parts/* damaged
done
# The sum of a whole manifest is verified, even if its leaves are right.
cp "$abs_top_srcdir/tests/fuzz/manifest/wrong-sum.blkm" wrong.blkm
merges_not "wrong.blkm: the sum is not that of the leaves" wrong.blkm
# So are the sums of several.
PYTHONPATH=$abs_top_srcdir/tests "$PYTHON" - << 'END'
import refmanifest
data = open("expected", "rb").read()
md = bytes(32)
blocks = int.from_bytes(data[-48:-40], "little")
open("wrong.blkm", "wb").write(
    data[:-56] + refmanifest.end(data[:512], blocks, md))
END
cp expected right.blkm
merges right.blkm expected
merges_not "wrong.blkm: the sum is not that of the leaves" wrong.blkm right.blkm
merges_not "wrong.blkm: the sum is not that of the leaves" right.blkm wrong.blkm

merges_not "missing: cannot open: No such file" parts/* missing
merges_not "image: not a blkhash manifest" parts/* image
mkfifo fifo
for other in fifo . /dev/null; do
  merges_not "$other: is not a regular file" parts/* $other
done
refuses "image exists, and is not a manifest" \
        blksum --merge parts/* --manifest image
make_image again
cmp image again || fail "an image was overwritten"
refuses "No such file" blksum --merge parts/* --manifest missing/got
refuses "needs manifests" blksum --merge --manifest got
refuses "needs --manifest" blksum --merge parts/*
for option in --check --expect=00 --compare --part=0/1 --format=raw \
              --size=1m; do
  refuses "cannot be used with\|needs" \
          blksum --merge parts/* --manifest got $option
done
if [ -c /dev/full ]; then
  run 2 sh -c 'blksum --merge parts/* --manifest - > /dev/full'
  says_once "cannot write the manifest: No space left"
fi
run 2 env GCOV_PREFIX=/dev/null sh -c 'trap "" XFSZ; ulimit -f 1
             exec blksum --merge parts/* --manifest new'
says_once "new: cannot write the manifest: File too large"
[ ! -e new ] || fail "left an incomplete manifest"

# ---- Many parts ----

# Few files are open at once, for any number of parts.
if [ -z "$wrapper" ]; then
  (ulimit -n 32 && blksum --merge many/* many/* --manifest got) > one ||
    fail "too many open files"
  cmp expected got || fail "the manifest differs"
fi

# ---- Parts from all kinds of sources ----

requires_qemu
qemu-img convert -f raw -O qcow2 image image.qcow2
qemu-img convert -c -f raw -O qcow2 image compressed.qcow2
rm -rf parts
mkdir parts
i=0
for of_image in image image.qcow2 compressed.qcow2 image image.qcow2; do
  blksum --part $i/5 --manifest-dir parts $of_image
  i=$((i + 1))
done
merges parts/*
whole large
rm -rf parts
mkdir parts
qemu-img convert -f raw -O qcow2 large large.qcow2
qemu-img resize -q large.qcow2 3221226496
truncate -s 3221226496 large
whole large
blksum --part 0/3 --manifest-dir parts large
blksum --part 1/3 --manifest-dir parts large.qcow2
blksum --part 2/3 --manifest-dir parts large.qcow2
merges parts/*

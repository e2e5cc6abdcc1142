#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --merge makes of the manifests of all parts of an image the manifest that one
# run writes, and its checksum; and if they are not all parts of one image, says
# why it does not.

. "$(dirname "$0")/functions.sh"
cd "$dir"

# make_parts DIR N IMAGE [OPTION]...
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

# merges PART...: to the manifest in $dir/expected, which one run writes; its sum
# is in $sum.
merges () {
  rm -f got
  prints_sum $sum blksum --merge "$@" --manifest got
  cmp expected got || fail "another manifest: $*"
  [ "$(stat -c %a got)" = 600 ] || fail "not only the owner's"
  [ "$(cat stdout)" = "$sum  manifest:got" ] || fail "$(cat stdout)"
}

# merges_not REGEX PART...: and what was there stays.
merges_not () {
  regex=$1
  shift
  cp before got
  refuses "$regex" blksum --merge "$@" --manifest got
  cmp before got || fail "something else is there"
}

# whole IMAGE [OPTION]...
whole () {
  of_image=$1
  shift
  blksum "$@" --manifest expected $of_image > one
  sum=$(cut -d' ' -f1 one)
}

# all_numbers IMAGE [OPTION]...: of parts.
all_numbers () {
  whole "$@"
  for n in 1 2 3 17; do
    every 1 3 || continue
    rm -rf parts
    make_parts parts $n "$@"
    merges parts/*
    merges $(ls -r parts/*)
  done
}

printf before | blksum --manifest before > one
make_image image
all_numbers image
[ $sum = "$(reference image)" ] || fail "not the sum of the reference"
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write image | cmp - got ||
  fail "not the manifest of the reference"
for options in "-b 4k" "-b 1m -d sha512 --streams 64" "-d md5 -b 512" \
               "--linear"; do
  all_numbers image $options
done
for size in 0 1 511 65537; do
  head -c $size image > short
  all_numbers short
  [ $sum = "$(reference short)" ] || fail "not the sum of the reference"
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
    cmp expected got || fail "another manifest: $digest"
    [ "$(cut -d' ' -f1 stdout)" = "$(reference -b 512 -d $digest short)" ] ||
      fail "another sum: $digest"
  fi
done

# 3 GiB and some bytes, with data where they are cut.
truncate -s 3221225985 large
for at in 0 1073700000 2147400000 3221200000; do
  write_data large $at 25000
done
all_numbers large
[ $sum = "$(reference large)" ] || fail "not the sum of the reference"

# Records of data are put together: there are more leaves than one has.
whole image -b 64 -d md5
rm -rf parts
make_parts parts 5 image -b 64 -d md5
merges parts/*

# ---- What is printed ----

whole image
rm -rf parts
make_parts parts 3 image
run 0 blksum --merge parts/* --manifest - --tag
cmp expected stdout || fail "another manifest on stdout"
blksum --merge parts/* --manifest - | cmp - expected || fail "another in a pipe"
run 0 blksum --tag --merge parts/* --manifest got
[ "$(cat stdout)" = "blk-sha256/64k (manifest:got) = $sum" ] || fail "no tag"
blksum --check stdout || fail "what is printed cannot be checked"
run 0 blksum --no-names --merge parts/* --manifest got
[ "$(cat stdout)" = $sum ] || fail "a name"
run 0 blksum --output=json --merge parts/* --manifest got
blksum --output=json manifest:got > one
sed 's/"seconds".*//' one > a
sed 's/"seconds".*//' stdout > b
cmp a b || fail "not: $(cat one)"
run 0 blksum --merge --manifest=got -d sha256 -b 64k -- parts/*

# ---- Some twice ----

merges parts/* parts/*
merges parts/* $(ls -r parts/*) parts/*-000001-*
cp expected whole.blkm
merges whole.blkm
merges whole.blkm whole.blkm expected
make_parts many 64 image
merges many/* many/*[02468]-of-*

# ---- Of another number of parts ----

make_parts other 4 image
overlaps="overlaps .*, and is not the same part: all must be made with the"
overlaps="$overlaps same N of --part I/N$"
for others in other "other/part-000002-of-000004.blkm" whole.blkm many; do
  if [ -d $others ]; then
    others=$(echo $others/*)
  fi
  merges_not "$overlaps" parts/* $others
  merges_not "$overlaps" $others parts/*
done
# One that is named is of one number, and the other of another.
run 2 blksum --merge parts/*-00000[02]-* other/*-000001-* --manifest got
says_once "other/part-000001-of-000004.blkm: overlaps parts/part-000000-of-0"
# What overlaps is told also if something is missing.
merges_not "$overlaps" parts/*-000000-* other/*-000001-*
# Those without blocks are part of it.
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write --part 200/400 image \
  > none.blkm
head -n 4 none.blkm | grep -aqx "blocks: 64:0" || fail "a part with blocks"
merges_not "none.blkm: $overlaps" parts/* none.blkm
# The blocks tell, not the names: these are all, and none overlaps.
make_parts halves 2 image
merges halves/*-000000-* other/*-00000[23]-*

# What is written can be one of those that are read.
cp parts/*-000001-* got
prints_sum $sum blksum --merge got parts/*-00000[02]-* --manifest got
cmp expected got || fail "not the manifest"

# ---- Some missing ----

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
  2818048 5570560 | cmp - stderr || fail "not both: $(cat stderr)"
# A part without blocks is no end of what is missing.
merges_not "got: the 2818048 bytes at 2752512 are in no part$" \
           $first none.blkm $third
run 2 blksum --merge many/*[02468]-of-* --manifest got
[ "$(wc -l < stderr)" = 11 ] || fail "not ten of many: $(cat stderr)"
cp expected got
refuses "are in no part" blksum --merge $first --manifest -

# ---- Of something else ----

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
for of in "short" "image -d sha512" "image -b 4k" "image --streams 64" \
          "image --linear"; do
  rm -rf foreign
  make_parts foreign 3 $of
  merges_not "foreign/part-000001-.* is of another image than $first" \
             $first foreign/part-000001-* $third
  merges_not "$first: is of another image than foreign/part-000001-" \
             foreign/part-000001-* $first $third
done
merges_not "it is a manifest of blk-sha256/64k, not of blk-md5/64k" \
           -d md5 parts/*

# Of another disk, of the same size: nobody can tell, unless two have a block.
cp image changed
printf x | dd of=changed bs=1 seek=3000000 conv=notrunc status=none
make_parts changed-parts 3 changed
changed=changed-parts/part-000001-of-000003.blkm
for again in "$changed" "changed-parts/*" "$second $changed $second"; do
  merges_not "says something else than .* of the block at 2949120$" \
             parts/* $again
  merges_not "says something else than .* of the block at 2949120$" \
             $again parts/*
done
grep -q "$changed.* $second" stderr || grep -q "$second.* $changed" stderr ||
  fail "not both are named: $(cat stderr)"
merges parts/* changed-parts/part-00000[02]-*
blksum --manifest changed.blkm changed > one
merges_not "says something else than .* of the block at 2949120$" \
           whole.blkm changed.blkm

# ---- Damaged ----

for at in 0 100 511 512 530 -1 -9 -20; do
  every 1 2 || continue
  cp $second damaged
  damage damaged $at
  merges_not "damaged: " $first damaged $third
  # Also if there is another that is right.
  merges_not "damaged: " parts/* damaged
done
size=$(stat -c %s $first)
for cut in 0 17 511 512 600 $((size - 1)); do
  head -c $cut $first > damaged
  merges_not "damaged: " damaged $second $third
  merges_not "damaged: " parts/* damaged
done
# The sum of a whole one is computed anew, also if its leaves are right.
cp "$abs_top_srcdir/tests/fuzz/manifest/wrong-sum.blkm" wrong.blkm
merges_not "wrong.blkm: the sum is not that of the leaves" wrong.blkm
# And of each of several.
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
refuses "image exists and is no manifest" \
        blksum --merge parts/* --manifest image
make_image again
cmp image again || fail "an image was replaced"
refuses "No such file" blksum --merge parts/* --manifest missing/got
refuses "needs manifests" blksum --merge --manifest got
refuses "needs --manifest" blksum --merge parts/*
for option in --check --expect=00 --compare --part=0/1 --format=raw \
              --image-opts --size=1m; do
  refuses "cannot be used with\|needs" \
          blksum --merge parts/* --manifest got $option
done
if [ -c /dev/full ]; then
  run 2 sh -c 'blksum --merge parts/* --manifest - > /dev/full'
  says_once "cannot write the manifest: No space left"
fi
run 2 sh -c 'trap "" XFSZ; ulimit -f 1
             exec blksum --merge parts/* --manifest new'
says_once "new: cannot write the manifest: File too large"
[ ! -e new ] || fail "a manifest that could not be written"

# ---- Many ----

# Few files are open at a time, whatever their number.
if [ -z "$wrapper" ]; then
  (ulimit -n 32 && blksum --merge many/* many/* --manifest got) > one ||
    fail "too many open files"
  cmp expected got || fail "not the manifest"
fi

# ---- Of any kind ----

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

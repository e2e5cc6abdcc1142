#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash merge combines the manifests of all parts of an image: it prints the
# sum, and writes the manifest, of a single run.  If they are not all parts of one
# plan, an error has the reason.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

# make_parts DIR N IMAGE [OPTION]...: makes N parts in DIR.
make_parts () {
  into=$1 n=$2 of_image=$3
  shift 3
  rm -rf $into
  mkdir $into
  i=0
  while [ $i -lt $n ]; do
    blkhash parts --state x "$@" --part $i/$n $of_image $into ||
      fail "part $i/$n of $of_image: $*"
    i=$((i + 1))
  done
}

# merges DIR|PART...: prints the sum $sum of a single run, and writes its
# manifest, which is in $dir/expected.
merges () {
  rm -f got
  run 0 blkhash merge "$@" --manifest got
  [ ! -s stderr ] || fail "unexpected message"
  cmp expected got || fail "the manifest differs: $*"
  [ "$(stat -c %a got)" = 600 ] || fail "the mode is not 600"
  [ "$(cat stdout)" = "$tag (manifest:got) = $sum" ] || fail "$(cat stdout)"
  run 0 blkhash merge "$@"
  [ "$(cat stdout)" = "$tag = $sum" ] || fail "$(cat stdout)"
}

# merges_not REGEX DIR|PART...: an error, and an existing manifest is kept.
merges_not () {
  regex=$1
  shift
  cp before got
  refuses "$regex" blkhash merge "$@" --manifest got
  cmp before got || fail "the existing manifest was changed"
  refuses "$regex" blkhash merge "$@"
}

# whole IMAGE [OPTION]...: makes $dir/expected, $sum and $tag in a single run.
whole () {
  of_image=$1
  shift
  blksum --tag "$@" --manifest expected $of_image > one
  sum=$(sed 's/.* //' one) tag=$(sed 's/ .*//' one)
}

# all_numbers IMAGE [OPTION]...: with several numbers of parts.
all_numbers () {
  whole "$@"
  for n in 1 2 3 17; do
    every 3 5 || continue
    make_parts parts $n "$@"
    merges parts
    merges $(ls -r parts/part*)
  done
}

printf before | blksum --manifest before > one
make_image image
all_numbers image
[ $sum = "$(reference image)" ] || fail "the sum is not that of the reference"
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write image | cmp - got ||
  fail "the manifest is not that of the reference"
for options in "-d sha256/4k" "-d sha512/1m/s64" "-d md5/512" \
               "-d sha256/64k/linear"; do
  all_numbers image $options
done
for size in 0 1 511 65537; do
  head -c $size image > short
  all_numbers short
  [ $sum = "$(reference short)" ] || fail "the sum is not that of the reference"
  all_numbers short -d sha256/512
done
head -c 20001 image > short
for digest in blake3 blake2b-256 null; do
  if blksum -l | grep -qx $digest; then
    whole short -d $digest/512
    make_parts parts 3 short -d $digest/512
    rm -f got
    run 0 blkhash merge parts --manifest got
    cmp expected got || fail "the manifest differs: $digest"
    [ "$(sed 's/.* = //' stdout)" = "$(reference -b 512 -d $digest short)" ] ||
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
whole image -d md5/64
make_parts parts 5 image -d md5/64
merges parts

# ---- Operands and output ----

whole image
make_parts parts 3 image
merges $(printf 'manifest:%s ' parts/part*)
run 0 blkhash merge parts --manifest -
cmp expected stdout || fail "the manifest on stdout differs"
blkhash merge parts --manifest - | cmp - expected ||
  fail "the manifest in a pipe differs"
blkhash merge parts > line
run 0 blksum --expect "$(cat line)" image
run 0 blkhash merge parts --manifest got
blksum --check stdout || fail "--check does not accept the output"
run 0 blkhash merge --output=json parts --manifest got
blksum --output=json manifest:got > one
sed 's/"seconds".*//' one > a
sed 's/"seconds".*//' stdout > b
cmp a b || fail "expected $(cat one)"
run 0 blkhash merge --output=json parts
grep -q '^{"name":"parts",.*"result":"ok"}$' stdout || fail "another object"
# Files of others, and a manifest beside the parts, do not matter.
touch parts/other
run 0 blkhash merge parts --manifest parts/disk.blkm
merges parts

# ---- Missing parts, parts twice ----

first=parts/part-000000-of-000003.blkm
second=parts/part-000001-of-000003.blkm
third=parts/part-000002-of-000003.blkm
merges_not "the image: 2752512 bytes at 0 are missing$" $second $third
merges_not "the image: 2818048 bytes at 2752512 are missing$" $third $first
merges_not "the image: 2818048 bytes at 5570560 are missing$" $first $second
run 2 blkhash merge $second --manifest got
printf 'blkhash: the image: %s bytes at %s are missing\n' 2752512 0 \
  2818048 5570560 | cmp - stderr || fail "expected two messages: $(cat stderr)"
mv $third third
merges_not "parts: 2818048 bytes at 5570560 are missing$" parts
mv third $third
make_parts many 64 image
rm many/*[13579]-of-*
run 2 blkhash merge many
[ "$(wc -l < stderr)" = 11 ] || fail "expected 11 lines: $(cat stderr)"
merges_not "$first: overlaps $first" $first $second $third $first

# ---- A failed audit ----

make_parts wrong 3 image
ln -s nowhere wrong/failed
run 1 blkhash merge wrong/part*
says_once "a part differed from the image, says wrong/failed; use a new directory"
rm wrong/part-000001-*
run 1 blkhash merge wrong
says_once "wrong: a part differed from the image, says wrong/failed; use a new"
# It fails while the parts are merged: the manifest fills the pipe until then.
truncate -s 20m filled
write_data filled 0 20000000
make_parts wrong 3 filled -d sha256/64
mkfifo pipe
{
  status=0
  blkhash merge wrong --manifest - > pipe 2> stderr || status=$?
  echo $status > ended
} &
exec 3< pipe
head -c 1 <&3 > one
[ -s one ] || fail "no manifest was begun"
echo text > wrong/failed
cat <&3 >> one
exec 3<&-
wait_until test -s ended
[ "$(cat ended)" = 1 ] || fail "status $(cat ended), not 1"
says_once "wrong: a part differed from the image, says wrong/failed; use a new"
refuses "the manifest is cut off" blksum manifest:one

# ---- Parts of other plans ----

head -c 8000000 image > short
for of in "short" "image -d sha512" "image -d sha256/4k/s64" \
          "image -d sha256/64k/linear" "image --size 8000000" \
          "image -d sha256/64k --state y"; do
  make_parts foreign 3 $of
  merges_not "foreign/part-000001-.* is not of the plan of $first" \
             $first foreign/part-000001-* $third
  cp -r parts mixed
  cp foreign/part-000001-* mixed
  merges_not "mixed: part-000001-of-000003.blkm: is not of the plan of" \
             mixed
  rm -r mixed
done
for part in "" "--part 0/3"; do
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write $part image > noplan
  merges_not "noplan: has no plan, so it is not a part: 'blkhash parts' makes" \
             noplan $second $third
done
merges_not "noplan: is not of the plan" $first $second $third noplan

# ---- Damaged parts ----

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
for at in 0 100 160 511 512 530 -1 -9 -20; do
  every 1 2 || continue
  cp $second damaged
  damage damaged $at
  merges_not "damaged: " $first damaged $third
done
size=$(stat -c %s $first)
for cut in 0 17 511 512 600 $((size - 1)); do
  head -c $cut $first > damaged
  merges_not "damaged: " damaged $second $third
done
mv $first kept
cp damaged $first
merges_not "parts: part-000000-of-000003.blkm: the manifest is cut off" parts
mv kept $first

merges_not "missing: cannot open: No such file" $first $second missing
merges_not "image: not a blkhash manifest" $first $second image
mkfifo fifo
for other in fifo /dev/null; do
  merges_not "$other: is not a regular file" $first $second $other
done
merges_not "parts: is a directory; give it alone" parts parts
mkdir empty
merges_not "empty: has no plan; blkhash parts writes one" empty
refuses "image exists, and is not a manifest" \
        blkhash merge parts --manifest image
make_image again
cmp image again || fail "an image was overwritten"
refuses "No such file" blkhash merge parts --manifest missing/got
refuses "the directory of the parts is missing" blkhash merge --manifest got
for option in --part=0/1 --format=raw --size=1m -d=md5; do
  run 2 blkhash merge parts $option
done
if [ -c /dev/full ]; then
  run 2 sh -c 'blkhash merge parts --manifest - > /dev/full'
  says_once "cannot write the manifest: No space left"
  run 2 sh -c 'blkhash merge parts > /dev/full'
  says_once "write error: No space left"
fi
run 2 env GCOV_PREFIX=/dev/null sh -c 'trap "" XFSZ; ulimit -f 1
             exec blkhash merge parts --manifest new'
says_once "new: cannot write new: File too large"
[ ! -e new ] || fail "left an incomplete manifest"

# Few files are open at once, for any number of parts.
make_parts many 64 image
if [ -z "$wrapper" ]; then
  (ulimit -n 32 && blkhash merge many --manifest got) > one ||
    fail "too many open files"
  cmp expected got || fail "the manifest differs"
fi

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --part I/N of blkhash compare, and of blksum --expect and --check, reads and compares
# only part I of N: the blocks that the manifest of that part would have.  The output
# says so, N runs compare everything, and nothing passes that was not compared.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

# Some MiB of data in a little more than 5 GiB, also where GiBs begin and end.
size=5368779264
new_image () {
  : > $1
  truncate -s $size $1
  for at in 0 1073700000 1074000000 3300000000; do
    write_data $1 $at 70000
  done
  write_data $1 4294900000 140000
  write_data $1 5368709120 70144
}
new_image a
new_image b
# One byte each: the first and last of a GiB, in data and in a hole.
for at in 1073741823 1073741824 2147483647 3221225472 4294967295 4294967296 \
          4500000000 5368709119 5368779263; do
  printf x | dd of=b bs=1 seek=$at conv=notrunc status=none
done
for image in a b; do
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write $image > $image.blkm
  echo "blk-sha256/64k ($image) = $(reference $image)" > $image.sum
done

# compares OPERAND...: prints $json, in both directions; with -q nothing, in the
# short form in one direction only.
compares () {
  a=$1 b=$2
  shift 2
  for order in "$a $b" "$b $a"; do
    run $status blkhash compare --part $part --output=json "$@" $order
    found_so
    is_long || [ "$order" = "$a $b" ] || continue
    run $status blkhash compare --part $part -q "$@" $order
    [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
  done
}

# All parts of a disk: whole GiB of it, or blocks if it is smaller than N GiB.
for n in 1 2 5 7; do
  mkdir parts.$n
  for i in $(seq 0 $((n - 1))); do
    part=$i/$n
    blkhash parts --part $part a parts.$n
    refcompare --part $part a a
    compares manifest:a.blkm a
    refcompare --part $part a b
    echo "$json" >> of.$n
    for pair in "a b" "manifest:a.blkm b" "manifest:a.blkm manifest:b.blkm"; do
      every 1 2 || continue
      compares $pair
    done
    run $status blksum -q --expect manifest:a.blkm --part $part b
  done
done
compares a b -t 1 --no-extents
compares manifest:a.blkm b -d sha256/64k/s4 --cache
"$PYTHON" - $size 1 2 5 7 << 'END' || fail "the parts are not the whole"
import glob, json, re, sys

size, *numbers = map(int, sys.argv[1:])

def blocks(parts):
    return sorted(r["start"] + at for part in parts
                  for r in part["ranges"]
                  for at in range(0, r["length"], 65536))

whole = [json.loads(line) for line in open("of.1")]
assert len(blocks(whole)) == 9, blocks(whole)
for n in numbers:
    parts = [json.loads(line) for line in open("of.%d" % n)]
    assert sum(part["compared-bytes"] for part in parts) == size, n
    assert blocks(parts) == blocks(whole), (n, parts)
    for part, name in zip(parts, sorted(glob.glob("parts.%d/*" % n))):
        first, count = map(int, re.search(rb"\nblocks: (\d+):(\d+)\n",
                                          open(name, "rb").read(512)).groups())
        end = min((first + count) * 65536, size)
        assert part["compared-bytes"] == end - first * 65536, name
        assert all(first * 65536 <= r["start"] and
                   r["start"] + r["length"] <= end
                   for r in part["ranges"]), name
END

# ---- Output, and combinations with other options ----

gib=1073741824
prints () {
  printf '%s\n' "$@" | cmp - stdout || fail "expected: $*"
}
run 0 blkhash compare --part 0/1 a a
prints "No difference in part 0/1: $size of $size bytes."
run 1 blkhash compare --part 2/4 a b
prints "65536 bytes at 3221225472 differ" "65536 bytes at 4294901760 differ" \
  "Compared part 2/4: $gib of $size bytes."
run 1 blkhash compare --part 4/5 --size 5g a b
prints "65536 bytes at 4294967296 differ" \
  "65536 bytes at 4499963904 differ" "65536 bytes at 5368643584 differ" \
  "Compared part 4/5: 1 of 5 GiB." \
  "a: 70144 bytes after the image were not read" \
  "b: 70144 bytes after the image were not read"
run 0 blkhash compare --part 2/5 --size 5g --strict manifest:a.blkm b
prints "No difference in part 2/5: 1 of 5 GiB." \
  "manifest:a.blkm: 70144 bytes after the image were not read" \
  "b: 70144 bytes after the image were not read"
for operand in a manifest:a.blkm manifest:b.blkm; do
  other=b
  [ $operand != manifest:b.blkm ] || other=manifest:a.blkm
  run 1 blkhash compare --part 3/5 --progress=3 $operand $other 3> progress
  [ "$(tail -n 1 progress)" = 100/100 ] || fail "progress: $(cat progress)"
  [ "$(wc -l < progress)" -gt 2 ] || fail "no progress: $(cat progress)"
done
run 0 blksum --expect manifest:a.blkm --part 2/5 b
prints "b: OK (part 2/5: $gib of $size bytes)"
run 0 blksum --expect manifest:a.blkm --part 2/5 - < b
run 1 blksum --expect manifest:a.blkm --part 3/5 b
prints "b: FAILED (part 3/5: $gib of $size bytes)"
says_once "b: 65536 bytes at 3221225472 differ; 'blkhash compare' prints all"

# Other digests, block sizes and constructions; the manifest contains them.
for spec in sha256/16m md5/4k/s3 blake2b512/64k sha256/1m/linear; do
  blksum -d $spec --manifest other.blkm a > tmp/sum
  for part in 0/2 1/2 60/77; do
    every 2 4 || continue
    run 0 blksum --expect manifest:other.blkm --part $part a
    refcompare --part $part -d $spec a b
    run $status blkhash compare --output=json --part $part \
      manifest:other.blkm b
    found_so
  done
done

# ---- --check: the manifest beside each image has the sum of its line ----

cat a.sum b.sum > sums
run 0 blksum --check --part 3/4 sums
for image in a b; do
  echo "$image: OK (part 3/4: $((gib + 70144)) of $size bytes)"
done | cmp - stdout || fail "another verdict"
[ ! -s stderr ] || fail "unexpected message"
cp --sparse=always b b.right
mv a.blkm a.kept
cp --sparse=always a b
run 0 blksum --check --quiet --part 2/5 b.sum
[ ! -s stdout ] || fail "not quiet"
run 1 blksum --check --part 4/5 b.sum
prints "b: FAILED (part 4/5: $((gib + 70144)) of $size bytes)"
says "WARNING: 1 computed checksum did NOT match"
# The whole manifest is verified first: no image is opened if it is another.
mkfifo fifo
cp a.kept fifo.blkm
sed 's/(b)/(fifo)/' b.sum > fifo.sum
run 2 timeout $limit blksum --check --part 4/5 fifo.sum
says "fifo: 'manifest:fifo.blkm': it is the manifest of another image, with" \
     "could not be read"
rm fifo
run 1 blksum --check --status --part 4/5 b.sum
[ ! -s stdout ] && [ ! -s stderr ] || fail "not silent"

# No image passes without its manifest, whatever the part is.
run 2 blksum --check --part 2/5 sums
prints "a: FAILED open or read" "b: OK (part 2/5: $gib of $size bytes)"
says "a: 'manifest:a.blkm': cannot open: No such file" "could not be read"

# unread WHY: the check of a.sum fails.
unread () {
  run 2 blksum --check --part 2/5 a.sum
  prints "a: FAILED open or read"
  says "$@" "could not be read"
}
cp b.blkm a.blkm
unread "a: 'manifest:a.blkm': .* of another image, with blk-sha256/64k = "
blksum -d sha256/64k/s3 --manifest a.blkm a > tmp/sum
unread "it is a manifest of blk-sha256/64k/s3, not of blk-sha256/64k$"
for kind in md5/64k sha256/4k; do
  blksum -d $kind --manifest a.blkm a > tmp/sum
  unread "it is a manifest of blk-$kind, not of blk-sha256/64k$"
done
head -c 600 a.kept > a.blkm
unread "a: 'manifest:a.blkm': the manifest is cut off"
mv a.kept a.blkm
# Lines without a tag, with capitals, and with another hash spec.
echo "$(reference a | tr a-f A-F)  a" > a.sum
run 0 blksum --check --part 2/5 a.sum
mv a.blkm a.kept
blksum --tag -d md5/1m/linear --manifest a.blkm a > a.sum
run 0 blksum --check --part 2/5 -d sha1 a.sum
# A manifest is always read to its end.
sed 's/(a)/(manifest:a.blkm)/' a.sum > of.blkm
run 0 blksum --check --part 2/5 of.blkm
prints "manifest:a.blkm: OK"
mv a.kept a.blkm
mv b.right b
echo "$(reference a)  -" > stdin.sum
run 2 blksum --check --part 2/5 stdin.sum < a
says "-: --part needs a manifest beside the image" "could not be read"
echo "$(reference a)  nbd://localhost/a" > uri.sum
run 2 blksum --check --part 2/5 uri.sum
says "not opened without --allow-uris" "could not be read"
run 2 blksum --check --part 2/5 --allow-uris uri.sum
says "nbd://localhost/a: --part needs a manifest beside" "could not be read"

# ---- What is not compared ----

# An empty part is not checked, so it is no success.
printf 12345678 > small
: > empty
for image in small empty; do
  bytes=$(wc -c < $image)
  blksum --tag --manifest $image.blkm $image > $image.sum
  part=0/9
  run 2 blksum --expect manifest:$image.blkm --part $part $image
  prints "$image: not checked (part $part: 0 of $bytes bytes)"
  says "$image: not checked: part $part of $bytes bytes is empty"
  run 2 blksum --status --expect manifest:$image.blkm --part $part $image
  [ ! -s stdout ] || fail "not quiet"
  for option in "" --ignore-missing --strict; do
    run 2 blksum --check --part $part $option $image.sum
    prints "$image: not checked (part $part: 0 of $bytes bytes)"
    says "$image: not checked: part $part of $bytes bytes is empty" \
         "WARNING: 1 part is empty, and was not checked" \
         ${option:+$([ $option = --strict ] || echo no.file.was.verified)}
  done
  refuses "$image: not checked: part $part of $bytes bytes is empty" \
    blkhash compare --part $part manifest:$image.blkm $image
done
run 0 blksum --check --part 8/9 small.sum
prints "small: OK (part 8/9: 8 of 8 bytes)"

# Images of different sizes have different parts.
cp --sparse=always a longer
truncate -s 7g longer
for pair in "a longer" "manifest:a.blkm longer" "longer manifest:a.blkm"; do
  refuses "${pair#* }: has [0-9]* bytes, ${pair% *} [0-9]*" \
          blkhash compare --part 2/5 $pair
done
refuses "longer: has 7516192768 bytes, manifest:a.blkm $size; --size $size" \
        blksum --expect manifest:a.blkm --part 2/5 longer
refuses "a: has 1000001 bytes, manifest:a.blkm $size$" \
        blksum --expect manifest:a.blkm --part 2/5 --size 1000001 a
cp a.blkm longer.blkm
echo "blk-sha256/64k (longer) = $(reference a)" > longer.sum
run 2 blksum --check --part 2/5 longer.sum
prints "longer: FAILED open or read"
run 0 blksum --expect manifest:a.blkm --part 2/5 --size $size longer
prints "longer: OK (part 2/5: $gib of $size bytes)"
run 0 blksum --check --part 2/5 --size $size longer.sum

# The sum of a manifest covers all of it, also the leaves outside of the part.
"$PYTHON" - << 'END'
import json, os, re
with open("a.blkm", "rb") as file:
    data = bytearray(file.read())
data[-100] ^= 1                 # a leaf of the last block
open("wrong.blkm", "wb").write(data)
END
head -c 600 b.blkm > cut.blkm
corpus=$abs_top_srcdir/tests/fuzz/manifest
for part in 0/2 29/30; do
  refuses "manifest:wrong.blkm: " \
          blksum --expect manifest:wrong.blkm --part $part a
  refuses "manifest:cut.blkm: the manifest is cut off" \
          blksum --expect manifest:cut.blkm --part $part a
done
for pair in "wrong-sum flat" "flat wrong-sum"; do
  refuses "wrong-sum.blkm: the sum is not that of the leaves" \
    blkhash compare --part 0/1 "manifest:$corpus/${pair% *}.blkm" \
    "manifest:$corpus/${pair#* }.blkm"
done
# It is verified before a difference from the manifest is reported.
truncate -s 628 other            # equal only in the middle
refuses "wrong-sum.blkm: the sum is not that of the leaves" \
  blkhash compare --part 0/1 "manifest:$corpus/wrong-sum.blkm" other
run 1 blkhash compare --part 0/1 "manifest:$corpus/flat.blkm" other
# Standard input can be read twice if it is a file.
run 0 blksum --expect manifest:- --part 2/5 b < a.blkm
prints "b: OK (part 2/5: $gib of $size bytes)"
refuses "manifest:-: it is read twice, and must be a file, not a pipe" \
        sh -c 'cat a.blkm | blksum --expect manifest:- --part 2/5 b'
refuses "manifest:-: it is read twice" \
        sh -c 'cat a.blkm | blkhash compare --part 2/5 b manifest:-'

# ---- Errors ----

refuses "--part needs" \
        blksum --part 0/2 --manifest c.blkm a
refuses "--part needs --expect manifest:FILE" \
        blksum --part 0/2 --expect $(reference a) a
from_pipe () { head -c 1000 a | "$@"; }
refuses "-: a pipe can only be read as a whole" \
        from_pipe blkhash compare --part 0/2 - a
refuses "-: a pipe can only be read as a whole" \
        from_pipe blkhash compare --size 1000 --part 0/2 a -
refuses "-: a pipe can only be read as a whole" \
        from_pipe blksum --expect manifest:b.blkm --part 0/2
refuses "standard input cannot be both" \
        blksum --expect manifest:- --part 0/2 < b.blkm
refuses "it is a manifest of blk-sha256/64k, not of blk-md5/64k" \
        blksum --expect manifest:b.blkm --part 0/2 -d md5 a
refuses "it is a manifest of blk-sha256/64k, not of blk-sha256/64k/linear" \
        blksum --expect manifest:b.blkm --part 0/2 -d sha256/64k/linear a

# ---- All kinds of sources ----

# Blocks of 4 KiB: parts begin and end within a cluster, and within the smallest
# read of a device or server.
head -c 1000448 a > c
write_data c 200000 400000
cp c d
printf x | dd of=d bs=1 seek=300000 conv=notrunc status=none
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write -b 4k c > c.blkm
is_compared () {
  for i in 1 2 3; do
    part=$i/7
    refcompare --part $part -d sha256/4k c d
    for first in c manifest:c.blkm; do
      run $((i == 2)) blkhash compare -d sha256/4k --output=json --part $part \
        $first "$@"
      found_so
    done
    run $((i == 2)) blksum -q --expect manifest:c.blkm --part $part "$@"
  done
}
is_compared d
if [ "$(id -u)" = 0 ] && command -v losetup > stdout &&
   device=$(loop_device d)
then
  at_exit "losetup -d $device"
  is_compared $device
fi
requires_qemu
for format in qcow2 vmdk; do
  qemu-img convert -f raw -O $format d d.$format
  is_compared d.$format
done
BLKSUM_DIRECT=0
export BLKSUM_DIRECT
is_compared d.qcow2
unset BLKSUM_DIRECT
qemu-img convert -c -f raw -O qcow2 d compressed.qcow2
is_compared compressed.qcow2

# The log of a server shows that the part is read, and nothing else.  It refuses
# requests that are smaller than 64 KiB.
requires_nbdkit --filter=log --filter=noextents --filter=blocksize-policy file
start_nbdkit --filter=blocksize-policy --filter=log --filter=noextents file d \
  logfile="$dir/log" blocksize-minimum=64K blocksize-preferred=64K \
  blocksize-error-policy=error
is_compared "$uri"
: > log
run 0 blksum --expect manifest:c.blkm --part 1/7 "$uri"
"$PYTHON" - << 'END' || fail "not the part was read: $(grep Read log)"
import re
reads = sorted((int(offset, 16), int(count, 16)) for offset, count in
               re.findall(r" Read .*offset=(0x\w+) count=(0x\w+)",
                          open("log").read()))
# Blocks 35 to 69 of 245, extended to 64 KiB.
assert reads[0][0] == 2 << 16 and sum(reads[-1]) == 5 << 16, reads
assert sum(count for _, count in reads) == 3 << 16, reads
END

# A manifest that becomes another one after it was verified, when the server is
# asked for the size.  It is larger than what is read of it at once.
requires_nbdkit eval
write_data e 0 4194304
cp e f
printf x | dd of=f bs=1 seek=4194303 conv=notrunc status=none
for image in e f; do
  blksum -b 512 --manifest $image.blkm $image > tmp/sum
done
start_nbdkit eval get_size="cat '$dir/f.blkm' > '$dir/g.blkm'; echo 4194304" \
  pread="tail -c +\$((\$4 + 1)) '$dir/f' | head -c \$3"
cp e.blkm g.blkm
refuses "manifest:g.blkm: it was modified while it was read" \
        blksum --expect manifest:g.blkm --part 1/2 "$uri"
run 0 blksum --expect manifest:f.blkm --part 1/2 "$uri"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --subset K/N reads and compares only every N-th GiB, from the K-th on, of
# images of all formats.  The output says so, and N runs compare everything.

. "$(dirname "$0")/functions.sh"
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
  blksum --tag --manifest $image.blkm $image > $image.sum
done
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write a > expected
cmp expected a.blkm || fail "the manifest differs"
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write b > expected
cmp expected b.blkm || fail "the manifest of the other image differs"

# differences SUBSET: prints those that the reference finds; computed once.
mkdir differences
differences () {
  of=differences/$(echo "$1" | tr / _)
  [ -s $of ] ||
    "$PYTHON" "$abs_top_srcdir/tests/refcompare.py" --subset $1 a b > $of
  cat $of
}

# compares SUBSET BYTES JSON A B [OPTION]...: in both directions; in the short
# form with -q in one direction only.
compares () {
  subset=$1 bytes=$2 json=$3 a=$4 b=$5
  shift 5
  status=0
  [ "$json" = "[]" ] || status=1
  for order in "$a $b" "$b $a"; do
    run $status blksum --compare --subset $subset --output=json "$@" $order
    [ ! -s stderr ] || fail "unexpected message"
    echo "{\"size\": $size, \"subset\": \"$subset\", \"compared\": $bytes," \
         "\"differences\": $json}" | cmp - stdout || fail "expected $json"
    is_long || [ "$order" = "$a $b" ] || continue
    run $status blksum --compare --subset $subset -q "$@" $order
    [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
  done
}

gib=1073741824
rest=70144
for which in "0/1 $size" "0/2 $((3 * gib))" "1/2 $((2 * gib + rest))" \
              "2/3 $((gib + rest))" "4/5 $gib" "5/30 $rest" "6/30 0" \
              "4294967294/4294967295 0"; do
  compares $which "[]" manifest:a.blkm a
  for pair in "a b" "manifest:a.blkm b" "manifest:a.blkm manifest:b.blkm"; do
    every 1 2 || continue
    compares $which "$(differences ${which% *})" $pair
  done
done
compares 5/30 $rest "$(differences 5/30)" a b -t 1 --no-extents
compares 4/5 $gib "$(differences 4/5)" manifest:a.blkm b --streams 4 --cache

# The union of all subsets has all differences: each GiB is in exactly one.
for n in 1 2 4 7; do
  k=0
  : > all
  while [ $k -lt $n ]; do
    blksum --compare --subset $k/$n a b >> all || [ $? = 1 ] || fail "$k/$n"
    k=$((k + 1))
  done
  grep "^At" all | sort > all.$n
done
# A range across the end of a GiB becomes two.
"$PYTHON" - 2 4 7 << 'END' || fail "the ranges differ"
import re, sys

def blocks(n):
    return sorted(block for line in open("all." + n)
                  for start, length in [map(int, re.findall(r"\d+", line))]
                  for block in range(start, start + length, 65536))

assert len(blocks("1")) == 9, blocks("1")
for n in sys.argv[1:]:
    assert blocks(n) == blocks("1"), (n, blocks(n))
END

# Other digests, block sizes and constructions; the manifest contains them.
for options in "-b 16m" "-d md5 -b 4k --streams 3" "-d blake2b512" \
               "--linear -b 1m"; do
  blksum $options --manifest other.blkm a > tmp/sum
  for subset in 0/2 1/2 5/6; do
    every 2 4 || continue
    run 0 blksum --compare --subset $subset manifest:other.blkm a
    json=$("$PYTHON" "$abs_top_srcdir/tests/refcompare.py" --subset $subset \
             $(echo $options | sed 's/--streams .*//; s/--linear//') a b)
    run 1 blksum --compare --output=json --subset $subset manifest:other.blkm b
    grep -qF "\"differences\": $json}" stdout || fail "$options: expected $json"
    run 0 blksum --expect manifest:other.blkm --subset $subset a
    run 1 blksum -q --expect manifest:other.blkm --subset $subset b
  done
done

# ---- Output, and combinations with other options ----

prints () {
  printf '%s\n' "$@" | cmp - stdout || fail "expected: $*"
}
run 0 blksum --compare --subset 0/3 a a
prints "No difference in $((2 * gib)) of $size bytes, subset 0/3."
run 1 blksum --compare --subset 5/6 a b
prints "At 5368774656: 4608 bytes differ." \
  "Compared: 70144 of $size bytes, subset 5/6."
run 0 blksum --compare --subset 6/30 a b
prints "Nothing to compare: 0 of $size bytes, subset 6/30."
run 1 blksum --compare --subset 4/5 --size 5g a b
prints "At 4294967296: 65536 bytes differ." \
  "At 4499963904: 65536 bytes differ." "At 5368643584: 65536 bytes differ." \
  "Compared: 1 of 5 GiB, subset 4/5." \
  "a: 70144 bytes after the image were not read" \
  "b: 70144 bytes after the image were not read"
run 0 blksum --compare --subset 2/5 --size 5g manifest:a.blkm b
prints "No difference in 1 of 5 GiB, subset 2/5." \
  "manifest:a.blkm: 70144 bytes after the image were not read" \
  "b: 70144 bytes after the image were not read"
run 1 blksum --compare --subset 3/5 --progress=3 manifest:a.blkm b 3> progress
[ "$(tail -n 1 progress)" = 100/100 ] || fail "progress: $(cat progress)"
[ "$(wc -l < progress)" -gt 2 ] || fail "no progress: $(cat progress)"

# Images of different sizes: beyond the end of the shorter one there are zeros.
head -c 4500000 a > short
truncate -s 1500000000 short
run 0 blksum --compare --subset 2/7 short a
run 1 blksum --compare --subset 4/7 --output=json short a
grep -qF '[{"start": 4294967296, "length": 131072}]' stdout ||
  fail "the output for the longer image"
run 1 blksum --compare --subset 2/7 --strict short a
prints "The sizes differ: 1500000000 and $size bytes." \
  "No difference in 1073741824 of $size bytes, subset 2/7."

# ---- --expect ----

run 0 blksum --expect manifest:a.blkm --subset 2/3 a
prints "a: OK (subset 2/3: 1073811968 of $size bytes)"
run 0 blksum --expect manifest:a.blkm --subset 2/6 b
prints "b: OK (subset 2/6: 1073741824 of $size bytes)"
run 1 blksum --expect manifest:a.blkm --subset 3/6 b
prints "b: FAILED (subset 3/6: 1073741824 of $size bytes)"
says_once "b: differs in the block at 3221225472; --compare prints"
run 0 blksum --expect manifest:a.blkm --subset 6/7 b
prints "b: not checked (subset 6/7: 0 of $size bytes)"
for image in "0 a" "1 b"; do
  run ${image%% *} blksum -q --expect manifest:a.blkm --subset 3/6 ${image#* }
  [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
done
# The sizes are compared too.
cp --sparse=always a longer
truncate -s 7g longer
for subset in 2/3 6/30; do
  run 1 blksum --expect manifest:a.blkm --subset $subset longer
  says_once "longer: has 7516192768 bytes, but the image of the manifest has $size"
  run 1 blksum --expect manifest:a.blkm --subset $subset --size 5g a
  says_once "a: has 5368709120 bytes, but the image of the manifest has $size"
  run 1 blksum --expect manifest:a.blkm --subset $subset --size 1000001 a
done
run 0 blksum --expect manifest:a.blkm --subset 2/3 --size $size longer
prints "longer: OK (subset 2/3: 1073811968 of $size bytes)"
run 0 blksum --expect manifest:a.blkm --subset 2/3 - < a
: > empty
blksum --manifest empty.blkm empty > tmp/sum
run 0 blksum --expect manifest:empty.blkm --subset 0/2 empty
prints "empty: OK (subset 0/2: 0 of 0 bytes)"

# ---- --check: the manifest beside each image has the sum of its line ----

cat a.sum b.sum > sums
run 0 blksum --check --subset 3/4 sums
prints "a: OK (subset 3/4: 1073741824 of $size bytes)" \
  "b: OK (subset 3/4: 1073741824 of $size bytes)"
[ ! -s stderr ] || fail "unexpected message"
cp --sparse=always b b.right
mv a.blkm a.kept
cp --sparse=always a b
run 0 blksum --check --subset 2/6 b.sum
run 1 blksum --check --subset 4/6 b.sum
prints "b: FAILED (subset 4/6: 1073741824 of $size bytes)"
says "WARNING: 1 computed checksum did NOT match"
run 1 blksum --check --status --subset 4/6 b.sum
[ ! -s stdout ] && [ ! -s stderr ] || fail "not silent"
run 0 blksum --check --quiet --subset 2/6 b.sum
[ ! -s stdout ] || fail "not quiet"
run 0 blksum --check --subset 6/7 b.sum
prints "b: not checked (subset 6/7: 0 of $size bytes)"
# No image passes without its manifest.
run 2 blksum --check --subset 2/6 sums
prints "a: FAILED open or read" "b: OK (subset 2/6: 1073741824 of $size bytes)"
says "a: 'manifest:a.blkm': cannot open: No such file" "could not be read"
cp b.blkm a.blkm
for subset in 2/6 4/6 6/7; do
  run 2 blksum --check --subset $subset a.sum
  prints "a: FAILED open or read"
  says "a: a.blkm is the manifest of another image, with blk-sha256/64k = " \
    "could not be read"
done
blksum --streams 3 --manifest a.blkm a > tmp/sum
run 2 blksum --check --subset 2/6 a.sum
says "manifest of another image, with blk-sha256/64k/s3 = " "could not be read"
for kind in md5/64k sha256/4k; do
  blksum -d $kind --manifest a.blkm a > tmp/sum
  run 2 blksum --check --subset 2/6 a.sum
  says "manifest of blk-$kind, .* compared with blk-sha256/64k" \
    "could not be read"
done
head -c 600 a.kept > a.blkm
run 2 blksum --check --subset 2/6 a.sum
says "a: 'manifest:a.blkm': the manifest is cut off" "could not be read"
mv a.kept a.blkm
# Lines without a tag, with capitals, and with another hash spec.
reference a | tr a-f A-F > digits
{ cat digits; echo "  a"; } | tr -d '\n' > a.sum
echo >> a.sum
run 0 blksum --check --subset 2/6 a.sum
blksum --tag -d md5 -b 1m --linear --manifest a.blkm a > a.sum
run 0 blksum --check --subset 2/6 a.sum
run 0 blksum --check --subset 2/6 -d sha1 a.sum
mv b.right b
run 0 blksum --check --subset 2/6 --ignore-missing a.sum
# A manifest is always read to its end.
sed 's/(a)/(manifest:a.blkm)/' a.sum > of.blkm
run 0 blksum --check --subset 2/6 of.blkm
prints "manifest:a.blkm: OK"
echo "$(cat digits)  -" > stdin.sum
run 2 blksum --check --subset 2/6 stdin.sum < a
says "-: --subset needs a manifest beside the image" "could not be read"
echo "$(cat digits)  nbd://localhost/a" > uri.sum
run 2 blksum --check --subset 2/6 uri.sum
says "not opened without --allow-uris" "could not be read"
run 2 blksum --check --subset 2/6 --allow-uris uri.sum
says "nbd://localhost/a: --subset needs a manifest beside the image" "could not be read"

# ---- Errors ----

for wrong in 2/2 3/2 0/0 1 1/ /2 -1/2 1/2/3 "1/2 " 0x1/2 1/4294967296 ""; do
  refuses "--subset: '$wrong' is not K/N, with K from 0 to N - 1" \
          blksum --compare --subset "$wrong" a b
done
refuses "--subset needs --check, --expect or --compare" blksum --subset 0/2 a
refuses "--subset needs --check, --expect or --compare" \
        blksum --subset 0/2 --manifest c.blkm a
refuses "--subset needs --expect manifest:FILE" \
        blksum --subset 0/2 --expect $(cat digits) a
from_pipe () { head -c 1000 a | blksum "$@"; }
refuses "-: a pipe can only be read as a whole" \
        from_pipe --compare --subset 0/2 - a
refuses "-: a pipe can only be read as a whole" \
        from_pipe --compare --size 1000 --subset 0/2 a -
refuses "-: a pipe can only be read as a whole" \
        from_pipe --expect manifest:b.blkm --subset 0/2
mkfifo fifo                    # refused before its end is read
printf x > fifo &
refuses "fifo: a pipe can only be read as a whole" \
        timeout 600 blksum --compare --subset 0/2 fifo a
wait
refuses "standard input cannot be both" \
        blksum --expect manifest:- --subset 0/2 < b.blkm
refuses "manifest of blk-sha256/64k, which cannot be compared" \
        blksum --expect manifest:b.blkm --subset 0/2 -d md5 a
# A manifest is always read to its end.
head -c 600 b.blkm > cut.blkm
for subset in 0/2 29/30; do
  refuses "manifest:cut.blkm: the manifest is cut off" \
          blksum --expect manifest:cut.blkm --subset $subset a
  corpus=$abs_top_srcdir/tests/fuzz/manifest
  for other in flat wrong-sum; do
    refuses "wrong-sum.blkm: the sum is not that of the leaves" \
      blksum --compare --subset $subset "manifest:$corpus/wrong-sum.blkm" \
      "manifest:$corpus/$other.blkm"
  done
done


# ---- Which data is read ----

if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
   command -v nbdkit > stdout &&
   nbdkit --filter=log --filter=noextents pattern --version > stdout 2>&1
then
  # Prints how many bytes of each GiB were read, by the log of the server.
  read_of_gibs () {
    "$PYTHON" - << 'END'
import re
gibs = [0] * 4
for offset, count in re.findall(r" Read .*offset=(0x\w+) count=(0x\w+)",
                                open("log").read()):
    first, end = int(offset, 16), int(offset, 16) + int(count, 16)
    for i in range(4):
        gibs[i] += max(0, min(end, (i + 1) << 30) - max(first, i << 30))
print(*gibs)
END
  }
  truncate -s 3221291009 zeros
  blksum --manifest zeros.blkm zeros > tmp/sum
  start_nbdkit --filter=log --filter=noextents file zeros logfile="$dir/log"
  run 0 blksum --compare --subset 3/4 manifest:zeros.blkm "$uri"
  [ "$(read_of_gibs)" = "0 0 0 65537" ] || fail "read $(read_of_gibs)"
  : > log
  run 0 blksum --expect manifest:zeros.blkm --subset 2/4 "$uri"
  [ "$(read_of_gibs)" = "0 0 $gib 0" ] || fail "read $(read_of_gibs)"
  : > log
  run 0 blksum --expect manifest:zeros.blkm --subset 5/6 "$uri"
  [ "$(read_of_gibs)" = "0 0 0 0" ] || fail "read $(read_of_gibs)"
fi

# The same for a file, by the system calls of all threads.
if command -v strace > stdout && [ -z "$wrapper" ] && [ "$SANITIZE" = no ] &&
   strace -f -o tmp/calls true 2> tmp/log
then
  truncate -s 3221291009 zeros
  blksum --manifest zeros.blkm zeros > tmp/sum
  strace -ff -qq -e trace=pread64,preadv,preadv2 -o "$dir/calls" \
    "$(real_program "$abs_top_builddir/tools/blksum")" --no-extents \
    --compare --subset 1/3 manifest:zeros.blkm zeros > stdout ||
    fail "blksum failed in strace"
  [ "$(cat stdout)" = "No difference in $gib of 3221291009 bytes, subset 1/3." ] ||
    fail "the subset was not compared"
  "$PYTHON" - << 'END' || fail "other ranges were read"
import glob, re
gibs = [0] * 4
for name in glob.glob("calls.*"):
    for line in open(name):
        call = re.match(r"pread64\(.*, (\d+)\) = (\d+)$", line) or \
            re.match(r"preadv2?\(.*\], 1, (\d+)(?:, [^)]*)?\) = (\d+)$", line)
        assert call or "= -1" in line, line
        if call:
            gibs[int(call[1]) >> 30] += int(call[2])
print(gibs)
# blksum also probed the format at the start and end.
assert gibs[1] == 1 << 30 and gibs[0] < 65536 and gibs[2] + gibs[3] < 65536
END
fi

# ---- All kinds of sources ----

# GiB 4 of a and b differ, and GiB 2 does not.
blksum --manifest a.blkm a > tmp/sum
is_compared () {
  for first in a manifest:a.blkm; do
    every 1 3 || continue
    compares 2/5 $gib "[]" $first "$@"
    compares 4/5 $gib "$(differences 4/5)" $first "$@"
  done
  run 0 blksum --expect manifest:a.blkm --subset 2/5 "$@"
  run 1 blksum --expect manifest:a.blkm --subset 4/5 "$@"
}
if [ "$(id -u)" = 0 ] && command -v losetup > stdout &&
   device=$(loop_device b)
then
  at_exit "losetup -d $device"
  is_compared $device
fi
requires_qemu
for format in qcow2 vmdk vhdx; do
  qemu-img convert -f raw -O $format b b.$format
  is_compared b.$format
done
BLKSUM_DIRECT=0
export BLKSUM_DIRECT
is_compared b.qcow2
requires_nbdkit file
start_nbdkit file b
is_compared "$uri"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --part I/N makes the manifest of a part of an image of any format, if it does
# not exist yet.  So a job that is restarted costs nothing, and a job that
# failed leaves nothing that could be mistaken for a part.

. "$(dirname "$0")/functions.sh"
cd "$dir"
mkdir parts

# part_file I N: prints the path of the part.
part_file () {
  printf 'parts/part-%06d-of-%06d.blkm' "$1" "$2"
}

# expected_part I N [OPTION]... IMAGE: the reference makes it in $dir/expected.
expected_part () {
  of=$1/$2
  shift 2
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write --part $of "$@" \
    > expected
}

# is_silent COMMAND...: COMMAND succeeds, and prints nothing.
is_silent () {
  run 0 "$@"
  [ ! -s stdout ] && [ ! -s stderr ] || fail "unexpected output: $*"
}

# makes I N COMMAND...: COMMAND makes the part in $dir/expected.
makes () {
  file=$(part_file $1 $2) of=$1/$2
  shift 2
  rm -f "$file"
  is_silent "$@" --part $of --manifest-dir parts
  cmp expected "$file" || fail "the part $of differs: $*"
  [ "$(stat -c %a "$file")" = 600 ] || fail "the mode is not 600: $*"
}

# all_parts N REFERENCE-OPTIONS IMAGE [OPTION]...: makes all parts.
all_parts () {
  n=$1 reference_options=$2 of_image=$3
  shift 3
  for i in $(seq 0 $((n - 1))); do
    every 2 3 || continue
    expected_part $i $n $reference_options $of_image
    makes $i $n blksum "$@" $of_image
  done
}

make_image image
for n in 1 2 7; do
  all_parts $n "" image
done
all_parts 3 "-b 4k -d sha512" image -b 4k -d sha512
all_parts 3 "-b 1m -d blake2b512 -s 64" image -d blake2b512/1m/s64
all_parts 20 "-b 1m --linear" image -d sha256/1m/linear
for size in 0 1 511 65536 65537; do
  head -c $size image > short
  all_parts 1 "" short
  all_parts 3 "" short
  all_parts 3 "-b 512" short -b 512 -t 3 --no-extents
done
for digest in blake3 blake2b-256; do
  if blksum -l | grep -qx $digest; then
    all_parts 2 "-b 512 -d $digest" short -b 512 -d $digest
  fi
done

# Large images are cut at whole GiB.
truncate -s 3221291009 large
for at in 0 1073700000 3221200000; do
  write_data large $at 90000
done
all_parts 2 "" large
all_parts 3 "" large
expected_part 3 5 large
makes 3 5 blksum large
rm -f parts/*
run 0 blksum --part 1/3 --manifest-dir parts large
head -n 4 parts/*-000001-of-* | grep -aqx "blocks: 16384:16384" ||
  fail "the part is not one GiB"

# 100 % is the end of the part.
expected_part 2 3 large
rm -f parts/*
run 0 blksum --part 2/3 --manifest-dir parts --progress=3 large 3> progress
[ "$(sed -n 1p progress)" = 0/100 ] && [ "$(tail -n 1 progress)" = 100/100 ] ||
  fail "progress: $(cat progress)"

# ---- An existing part ----

file=$(part_file 0 3)
expected_part 0 3 image
# Nothing is read: the image would be a different disk.
makes 0 3 blksum image
ln $file before
cp image other
printf x | dd of=other bs=1 seek=100000 conv=notrunc status=none
is_silent blksum --part 0/3 --manifest-dir parts other
[ before -ef $file ] || fail "a part that exists was made again"
: > progress
run 0 blksum --part 0/3 --manifest-dir parts --progress=3 other 3> progress
[ before -ef $file ] || fail "a part that exists was made again"

# A part with the same number of blocks, but other ones.
expected_part 1 2 image
makes 1 2 blksum image
cp "$(part_file 1 2)" "$(part_file 0 2)"
expected_part 0 2 image
is_silent blksum --part 0/2 --manifest-dir parts image
cmp expected "$(part_file 0 2)" || fail "the other half was accepted"
file=$(part_file 0 3)
expected_part 0 3 image

# made_anew WHAT: the existing file is replaced.
made_anew () {
  cp -p $file wrong
  is_silent blksum --part 0/3 --manifest-dir parts image
  cmp expected $file || fail "not replaced: $*"
  [ "$(stat -c %a $file)" = 600 ] || fail "the mode is not 600: $*"
}
size=$(stat -c %s expected)
for cut in 0 1 17 511 512 600 $((size - 1)); do
  head -c $cut expected > $file
  made_anew "cut to $cut"
done
for at in 30 100 511 520 700 $((size - 20)) $((size - 1)); do
  cp expected $file
  "$PYTHON" - $file $at << 'END'
import sys
f = open(sys.argv[1], "r+b")
f.seek(int(sys.argv[2]))
byte = f.read(1)[0]
f.seek(int(sys.argv[2]))
f.write(bytes([byte ^ 16]))
END
  made_anew "damaged at $at"
done
(cat expected; echo) > $file
made_anew "with something behind it"
head -c 8000000 image > short
for other in "0 3 short" "0 3 -d sha512 image" "0 3 -b 4k image" \
             "0 3 -s 64 image" "0 3 --linear image" "1 3 image" "1 4 image" \
             "0 1 image"; do
  expected_part $other
  mv expected $file
  expected_part 0 3 image
  made_anew "of $other"
done

# Files that are not of this program are not replaced, and links are not
# followed.
echo "a text" > $file
refuses "not a manifest" blksum --part 0/3 --manifest-dir parts image
[ "$(cat $file)" = "a text" ] || fail "a text was replaced"
rm $file
mkdir $file
refuses "not a regular file" blksum --part 0/3 --manifest-dir parts image
rmdir $file
mkfifo $file
refuses "not a regular file" blksum --part 0/3 --manifest-dir parts image
rm $file
echo precious > precious
ln -s ../precious $file
refuses "is a symbolic link" blksum --part 0/3 --manifest-dir parts image
[ "$(cat precious)" = precious ] || fail "a link was followed"
rm $file
ln -s loop loop
refuses "cannot open loop/.*: Too many levels of symbolic links" \
  blksum --part 0/3 --manifest-dir loop image

# Two runs for the same part at once: both succeed, and so the part is right.
expected_part 0 3 image
blksum --part 0/3 --manifest-dir parts image &
first=$!
blksum --part 0/3 --manifest-dir parts image || fail "the second of two failed"
wait $first || fail "the first of two failed"
cmp expected $file || fail "the part of two runs differs"

# ---- Errors ----

rm parts/*
refuses "pipe" sh -c 'cat image | blksum --part 0/2 --manifest-dir parts'
refuses "pipe" sh -c 'cat image | blksum --size 1m --part 0/2 --manifest-dir parts'
refuses "No such file" blksum --part 0/2 --manifest-dir parts missing
refuses "No such file" blksum --part 0/2 --manifest-dir missing image
refuses "for images" blksum --part 0/2 --manifest-dir parts manifest:expected
refuses "one image" blksum --part 0/2 --manifest-dir parts image image
refuses "needs --check, --expect, --compare or --manifest-dir" \
  blksum --part 0/2 image
refuses "needs --part" blksum --manifest-dir parts image
for wrong in 2/2 0/0 1 a/b 0/1000000; do
  refuses "is not I/N" blksum --part $wrong --manifest-dir parts image
done
for option in --check --expect=00 --compare --tag --no-names --output=json \
              -z --manifest=x; do
  refuses "cannot be used with" \
          blksum --part 0/2 --manifest-dir parts $option image
done
[ -z "$(ls parts)" ] || fail "left behind: $(ls parts)"
if [ "$(id -u)" != 0 ]; then
  chmod 500 parts
  refuses "Permission denied" blksum --part 0/2 --manifest-dir parts image
  chmod 700 parts
fi

# The image changes while it is read, or blksum is killed, or the disk is full.
truncate -s 400m slow
write_data slow 0 30000000
refuses "changed" midway "touch $dir/slow" -t 1 --part 0/2 --manifest-dir \
        "$dir/parts" "$dir/slow"
[ -z "$(ls parts)" ] || fail "made a part of an image that changed"
for signal in TERM KILL; do
  status=0
  midway "kill -$signal \$pid" -t 1 --part 0/2 --manifest-dir "$dir/parts" \
    "$dir/slow" > stdout 2> stderr || status=$?
  [ $status != 0 ] || fail "not killed by $signal"
  [ ! -e "$(part_file 0 2)" ] || fail "a part exists although killed by $signal"
done
rm -f parts/*.new
run 2 env GCOV_PREFIX=/dev/null sh -c 'trap "" XFSZ; ulimit -f 1
             exec blksum -b 512 --part 0/2 --manifest-dir parts image'
says_once "image: cannot write the manifest: File too large"
[ -z "$(ls parts)" ] || fail "left behind: $(ls parts)"

# ---- All kinds of sources ----

# of_any_kind COMMAND...: makes a part in the middle, and a part without blocks.
of_any_kind () {
  expected_part 1 3 image
  makes 1 3 "$@"
  expected_part 400 1000 image
  makes 400 1000 "$@"
}
from_stdin () { blksum "$@" < image; }
of_any_kind from_stdin
(cat image; head -c 100000 large) > longer
of_any_kind blksum --size 8m longer
if [ "$(id -u)" = 0 ] && command -v losetup > stdout &&
   device=$(loop_device image)
then
  at_exit "losetup -d $device"
  of_any_kind blksum $device
fi
requires_qemu
for format in qcow2 vmdk vdi; do
  qemu-img convert -f raw -O $format image other.$format
  of_any_kind blksum other.$format
done
BLKSUM_DIRECT=0 of_any_kind blksum other.qcow2
qemu-img convert -c -f raw -O qcow2 image other.qcow2
of_any_kind blksum other.qcow2

# The minimum request of the server is larger than a block: a part begins and
# ends within one request.
if command -v nbdkit > stdout &&
   nbdkit --filter=blocksize-policy file --version > stdout 2>&1
then
  start_nbdkit --filter=blocksize-policy file image blocksize-minimum=64K \
    blocksize-preferred=64K blocksize-error-policy=error
  for i in 0 1 2 16; do
    expected_part $i 17 -b 4k image
    makes $i 17 blksum -b 4k "$uri"
  done
fi

# The log of a server shows that only the part is read.
requires_nbdkit --filter=log --filter=noextents file
start_nbdkit --filter=log --filter=noextents file large logfile="$dir/log"
expected_part 3 4 -b 1m large
makes 3 4 blksum -b 1m "$uri"
"$PYTHON" - << 'END' || fail "more than the part was read"
import re
reads = [(int(offset, 16), int(count, 16)) for offset, count in
         re.findall(r" Read .*offset=(0x\w+) count=(0x\w+)", open("log").read())]
first, end = 3073 * 3 // 4 << 20, 3221291009
assert sum(count for _, count in reads) == end - first, sum(c for _, c in reads)
assert min(offset for offset, _ in reads) == first
END
: > log
is_silent blksum -b 1m --part 3/4 --manifest-dir parts "$uri"
! grep -q " Read " log || fail "read for a part that exists"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash parts hashes the parts of an image that are missing in a directory, and
# prints the sum when all exist: however often runs are killed, in however many
# runs at once, and on however many hosts.  Parts of another image, or of another
# state of it, never become part of a sum where the files of the image, or the
# name of the state, show it.

. "$(dirname "$0")/../functions.sh"
cd "$dir"
mkdir parts

# Times are trusted when they are two seconds old: all images are made first.
make_image image
cp image other
printf x | dd of=other bs=1 seek=100000 conv=notrunc status=none
cp -p image copy
cp image changing
head -c 8000000 image > short
(cat image; head -c 100000 image) > longer
truncate -s 400m slow
write_data slow 0 30000000
# Large images are cut at whole GiB.
truncate -s 3221291009 large
for at in 0 1073700000 3221200000; do
  write_data large $at 90000
done
sum=$(reference image)
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write image > manifest

# is_silent COMMAND...: COMMAND succeeds, and prints nothing.
is_silent () {
  run 0 "$@"
  [ ! -s stdout ] && [ ! -s stderr ] || fail "unexpected output: $*"
}

# prints NAME COMMAND...: it prints the right sum of $dir/image under this name.
prints () {
  as=$1
  shift
  run 0 "$@"
  [ ! -s stderr ] || fail "unexpected message: $*"
  echo "blk-sha256/64k ($as) = $sum" | cmp - stdout || fail "another sum: $*"
}

# fresh [N]: an empty directory, or one with N parts of $dir/image.
fresh () {
  rm -rf parts
  mkdir parts
  [ $# = 0 ] || for i in $(seq 0 $(($1 - 1))); do
    is_silent blkhash parts --part $i/$1 image parts
  done
}

# changed_nothing: the directory is as when fresh_copy was called.
keep_copy () {
  rm -rf kept
  cp -a parts kept
}
changed_nothing () {
  diff -r kept parts || fail "the directory was changed"
}

# is_limited BLOCKS STATUS REGEX ARGUMENT...: runs blkhash ARGUMENT..., which can
# write only BLOCKS of 512 bytes to a file; its message goes to a pipe.
is_limited () {
  blocks=$1 wanted_status=$2 regex=$3
  shift 3
  env GCOV_PREFIX=/dev/null sh -c "trap '' XFSZ; ulimit -f $blocks"'
    blkhash "$@"; echo "status $?"' sh "$@" 2>&1 | cat > stdout
  grep -qx "status $wanted_status" stdout && grep -q "^blkhash: .*$regex" stdout ||
    fail "not $wanted_status, $regex: $*"
}

# part_file I N: prints the path of the part.
part_file () {
  printf 'parts/part-%06d-of-%06d.blkm' "$1" "$2"
}

# expected_part I N [OPTION]... IMAGE: the reference makes it in $dir/expected.
expected_part () {
  of=$1/$2
  shift 2
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write --part $of \
    --plan parts/plan "$@" > expected
}

# ---- One host ----

prints image blkhash parts image parts
[ "$(ls -A parts)" = "part-000000-of-000001.blkm
plan" ] || fail "other files: $(ls -A parts)"
"$PYTHON" - image << 'END' | cmp - parts/plan || fail "another plan"
import os, sys
s = os.stat(sys.argv[1])
time = lambda ns: "%d.%09d" % divmod(ns, 10**9)
print("blkhash-plan 1\nsum: blk-sha256/64k\nsize: %d\nparts: 1\nformat: raw\n"
      "file: %d %d %s %s" % (s.st_size, s.st_size, s.st_ino,
                             time(s.st_mtime_ns), time(s.st_ctime_ns)))
END
[ "$(stat -c %a parts/plan)" = 600 ] || fail "the mode of the plan is not 600"
keep_copy
# Again and again.
for options in "" "-d sha256/64k" "-f raw" "--audit 100%" "--audit 0%" \
               "-t 1 --no-extents --cache"; do
  prints image blkhash parts $options image parts
done
changed_nothing
prints image blkhash parts --manifest got image parts
cmp manifest got || fail "another manifest"
run 0 blkhash parts --manifest - image parts
cmp manifest stdout || fail "another manifest on stdout"
run 0 blkhash parts --output json image parts
blksum --output json image > one
sed 's/,"[a-z]*-bytes.*//' one > a
sed 's/,"[a-z]*-bytes.*//' stdout | cmp a - || fail "not $(cat one)"
changed_nothing
# What a run needs only to read can be read only.
chmod 500 parts
prints image blkhash parts image parts
chmod 700 parts

# The number of parts: one for 4 GiB, at most 4096.
for case in 4g:1 4294967297:2 100g:25 16t:4096 20t:4096; do
  size=${case%:*} n=${case#*:}
  rm -f empty.img
  truncate -s $size empty.img || continue
  fresh
  # The plan is there before the first part.
  blkhash parts -d blake2b512/16m --state x empty.img parts > stdout 2>&1 &
  pid=$!
  wait_until test -e parts/plan
  kill -9 $pid 2> /dev/null || :
  wait $pid || :
  grep -qx "parts: $n" parts/plan || fail "$size: $(cat parts/plan)"
done
rm -f empty.img

# ---- Several hosts ----

fresh 3
plan=$(cat parts/plan)
for i in 0 1 2; do
  expected_part $i 3 image
  cmp expected "$(part_file $i 3)" || fail "part $i differs"
  [ "$(stat -c %a "$(part_file $i 3)")" = 600 ] || fail "the mode is not 600"
done
keep_copy
is_silent blkhash parts --part 1/3 --audit 100% image parts
prints image blkhash parts image parts
rm "$(part_file 1 3)"
run 2 blkhash merge parts
says_once "parts: 2818048 bytes at 2752512 are missing"
# A run without --part takes the number from the plan, and what is missing.
prints image blkhash parts --progress=3 image parts 3> progress
[ "$(sed -n 1p progress)" = 0/100 ] && [ "$(tail -n 1 progress)" = 100/100 ] &&
  [ "$(grep -c 100/100 progress)" = 1 ] || fail "progress: $(cat progress)"
changed_nothing
is_silent blkhash parts --part 2/3 --progress=3 image parts 3> progress
[ "$(tail -n 1 progress)" = 100/100 ] || fail "progress: $(cat progress)"

# expects_parts N REFERENCE-OPTIONS OPTION...: all parts of an image.
expects_parts () {
  n=$1 reference_options=$2
  shift 2
  fresh
  for i in $(seq 0 $((n - 1))); do
    every 2 3 || continue
    is_silent blkhash parts --part $i/$n "$@" parts
    expected_part $i $n $reference_options
    cmp expected "$(part_file $i $n)" || fail "part $i/$n differs: $*"
  done
}
expects_parts 7 image image
expects_parts 3 "-b 4k -d sha512 image" -d sha512/4k image
expects_parts 20 "-b 1m --linear image" -d sha256/1m/linear image
expects_parts 3 "-b 512 short" -d sha256/512 -t 3 --no-extents short
expects_parts 3 large large
for size in 0 1 65537; do
  head -c $size image > small
  fresh
  expects_parts 3 small --state $size small
  prints_of=$(reference small)
  run 0 blkhash parts --state $size small parts
  grep -q " = $prints_of$" stdout || fail "another sum of $size bytes"
done
fresh
is_silent blkhash parts --part 1/3 large parts
head -n 4 "$(part_file 1 3)" | grep -aqx "blocks: 16384:16384" ||
  fail "the part is not one GiB"

# Options that the first run gave are in the plan.
fresh
is_silent blkhash parts -d sha512/4k/s64 --part 0/5 image parts
run 0 blkhash parts image parts
[ "$(cat stdout)" = "blk-sha512/4k/s64 (image) = $(reference -d sha512 -b 4k \
  -s 64 image)" ] || fail "not the spec of the plan"

# ---- Damaged parts ----

fresh 3
file=$(part_file 0 3)
keep_copy
# made_again WHAT: the file is replaced.
made_again () {
  prints image blkhash parts image parts
  diff -r kept parts || fail "not replaced: $*"
}
size=$(stat -c %s $file)
for cut in 0 1 17 511 512 600 $((size - 1)); do
  every 2 3 || continue
  head -c $cut kept/${file#*/} > $file
  made_again "cut to $cut"
done
for at in 30 100 150 511 520 700 $((size - 20)) $((size - 1)); do
  every 3 5 || continue
  "$PYTHON" - kept/${file#*/} $at > $file << 'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[int(sys.argv[2])] ^= 16
sys.stdout.buffer.write(data)
END
  made_again "damaged at $at"
done
(cat kept/${file#*/}; echo) > $file
made_again "with something behind it"
# Complete parts that are not this one, or of another plan.
for other in "--part 0/3 --plan /dev/null image" "--part 0/3 image" "image" \
             "--part 1/3 --plan parts/plan image" \
             "--part 0/3 --plan parts/plan short" \
             "--part 0/3 --plan parts/plan -d sha512 image" \
             "--part 0/3 --plan parts/plan --linear image"; do
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write $other > $file
  made_again "of $other"
done

# Files that are not of this program are not replaced, and links are not
# followed.
echo "a text" > $file
refuses "not a manifest" blkhash parts image parts
[ "$(cat $file)" = "a text" ] || fail "a text was replaced"
rm $file
mkfifo $file
refuses "not a regular file" blkhash parts image parts
rm $file
echo precious > precious
ln -s ../precious $file
refuses "is a symbolic link" blkhash parts image parts
[ "$(cat precious)" = precious ] || fail "a link was followed"
rm $file
made_again "removed"

# ---- Another image, another state ----

differs="has changed since parts/plan was written, or is another image; use a new"
refuses "other: $differs" blkhash parts other parts
refuses "copy: $differs" blkhash parts copy parts
refuses "short: parts/plan has \"size: 8388608\", not \"size: 8000000\"; use a" \
        blkhash parts short parts
refuses "longer: parts/plan has \"size: " blkhash parts longer parts
refuses "longer: $differs" blkhash parts --size 8m longer parts
refuses "image: parts/plan has \"sum: blk-sha256/64k\", not \"sum: blk-md5/64k\"" \
        blkhash parts -d md5 image parts
refuses "parts/plan has \"parts: 3\", not \"parts: 4\"; use a new directory" \
        blkhash parts --part 0/4 image parts
refuses "parts/plan was written without --state; use a new directory" \
        blkhash parts --state x image parts
for part in "" "--part 1/3"; do
  refuses "$differs" blkhash parts $part other parts
done
changed_nothing

fresh
is_silent blkhash parts --part 0/2 changing parts
keep_copy
# A write, a write whose mtime is set back, another mtime or mode.  The clock can
# have been set back, too: each other time is a change.
touch -d "2 hours ago" changing
refuses "changing: $differs" blkhash parts changing parts
cp -p changing times
printf y | dd of=changing bs=1 seek=7000000 conv=notrunc status=none
touch -r times changing
refuses "changing: $differs" blkhash parts changing parts
changed_nothing

# A host that sees another inode, as of some file systems.
fresh 2
sed -i 's/^\(file: [0-9]*\) \([0-9]*\)/\1 1\2/' parts/plan
refuses "image: only its inode differs from parts/plan; .* --state NAME and a new" \
        blkhash parts image parts

# The name of a state is compared, not inode and times: another copy of the same
# image does.
fresh
is_silent blkhash parts --state today --part 0/2 image parts
is_silent blkhash parts --state today --part 1/2 copy parts
prints copy blkhash parts --state today copy parts
refuses "parts/plan has \"state: today\", not \"state: yesterday\"; use a new" \
        blkhash parts --state yesterday image parts
refuses "parts/plan was written with --state; give the same NAME" \
        blkhash parts image parts
for name in "" "a
b"; do
  refuses "the NAME of --state must be a line" \
          blkhash parts --state "$name" image parts
done

# A time in the future.
fresh
touch -d "1 hour" changing
refuses "changing: has a time in the future, so .*; use --state NAME" \
        blkhash parts changing parts
[ -z "$(ls -A parts)" ] || fail "left behind: $(ls -A parts)"
is_silent blkhash parts --part 0/1 --state x changing parts

# An image that was just written: the times in the plan are two seconds old.
fresh
cp image new
prints new blkhash parts new parts
old=$(sed -n 's/^file: .* \([0-9]*\)[.][0-9]*$/\1/p' parts/plan)
[ $(($(stat -c %Z parts/plan) - old)) -ge 2 ] || fail "did not wait"

# What has no times, or others write.
fresh
refuses "image: changes of a device, .* or with -U .* give .* --state NAME" \
        blkhash parts -U image parts
is_silent blkhash parts -U --state x --part 0/1 image parts

# ---- The audit ----

# By default there is one, which reads at least 64 blocks.
head -c 4194304 image > few
head -c 4194304 other > few.other
fresh
for i in 0 1; do
  is_silent blkhash parts --state x --part $i/2 few parts
done
run 1 blkhash parts --state x few.other parts
grep -q "few.other: 65536 bytes at 65536 differ" stderr || fail "no audit"

# An image that differs, with the same name of its state.
fresh
for i in 0 1 2 3; do
  is_silent blkhash parts --state x --part $i/4 image parts
done
keep_copy
is_silent blkhash parts --state x --audit 0% --part 0/4 other parts
# A run audits its own part only.
is_silent blkhash parts --state x --audit 100% --part 1/4 other parts
changed_nothing
found="other: 65536 bytes at 65536 differ from parts/part-000000-of-000004.blkm"
for part in "" "--part 0/4"; do
  rm -rf parts
  cp -a kept parts
  run 1 blkhash parts --state x --audit 100% $part other parts
  [ ! -s stdout ] || fail "printed a sum"
  says "$found$" "other: the parts are not of this state of the image; use a new"
  [ "$(cat parts/failed)" = "${found#other: }" ] || fail "$(cat parts/failed)"
  # It stays wrong, whatever the next sample is.
  for again in "parts --state x image parts" "parts --audit 0% image parts" \
               "parts --state x --part 1/4 image parts" "merge parts" \
               "merge $(echo parts/part*)"; do
    run 1 blkhash $again
    [ ! -s stdout ] || fail "printed a sum"
    says_once "a part differed from the image, says parts/failed; use a new"
  done
done
# Parts that this run makes are not audited, and others are, before it merges.
rm -rf parts
cp -a kept parts
rm "$(part_file 0 4)"
run 0 blkhash parts --state x --audit 100% other parts
grep -q "(other) = $(reference other)$" stdout || fail "another sum"
run 1 blkhash parts --state x --audit 100% image parts
says "image: 65536 bytes at 65536 differ" "use a new directory$"
# The file is there also if nothing can be written to it.
rm -rf parts
cp -a kept parts
is_limited 0 1 "use .*, and remove this one: cannot write parts/failed: File" \
           parts --state x --audit 100% other parts
run 1 blkhash merge parts

# ---- Directories and operands ----

fresh
refuses "missing: cannot open: No such file" blkhash parts image missing
refuses "image: is not a directory" blkhash parts image image
refuses "nothing: cannot open: No such file" blkhash parts nothing parts
refuses "this is a manifest" blkhash parts manifest:manifest parts
refuses "standard input may be something else" blkhash parts - parts < image
from_pipe () { cat image | blkhash "$@"; }
refuses "a pipe can only be read as a whole" \
        from_pipe parts --state x /dev/stdin parts
refuses "image cannot be both the image and its manifest" \
        blkhash parts --manifest image image parts
[ -z "$(ls -A parts)" ] || fail "left behind: $(ls -A parts)"
refuses "has no plan; blkhash parts writes one" blkhash merge parts
touch parts/data
refuses "parts: has no plan, but other files, such as data; use an empty" \
        blkhash parts image parts
rm parts/data
touch parts/.snapshot parts/.plan.$(hostname).1
prints image blkhash parts image parts
for text in "" "blkhash-plan 2" "text"; do
  fresh
  echo "$text" > parts/plan
  refuses "parts/plan is not a plan" blkhash parts image parts
  refuses "parts/plan is not a plan" blkhash merge parts
done
if [ "$(id -u)" != 0 ]; then
  fresh
  chmod 500 parts
  refuses "cannot create parts/plan: Permission denied" blkhash parts image parts
  chmod 700 parts
fi

# No space is left, for the plan and for a part; then there is.
fresh
is_limited 0 2 "parts: cannot create parts/plan: File too large" \
           parts -d sha256/512 image parts
[ -z "$(ls -A parts)" ] || fail "left behind: $(ls -A parts)"
is_limited 1 2 "image: cannot write .*blkm: File too large" \
           parts -d sha256/512 image parts
[ "$(ls -A parts)" = plan ] || fail "left behind: $(ls -A parts)"
run 0 blkhash parts image parts
grep -q " = $(reference -b 512 image)$" stdout || fail "another sum"

# The image changes while it is read.
fresh
refuses "changed" midway "touch $dir/slow" blkhash parts -t 1 --part 0/2 \
        "$dir/slow" "$dir/parts"
[ "$(ls -A parts)" = plan ] || fail "made a part of an image that changed"
# The ctime is in the plan, so it does not matter that the mtime is set back.
fresh
refuses "slow: changed while it was read" midway "cp -p $dir/slow $dir/times
  printf x | dd of=$dir/slow bs=1 conv=notrunc status=none
  touch -r $dir/times $dir/slow" blkhash parts -t 1 "$dir/slow" "$dir/parts"
[ "$(ls -A parts)" = plan ] || fail "made a part of an image that changed"

# ---- Many runs at once, and runs that are killed ----

crowd=100
! is_instrumented || crowd=10
! is_long || is_instrumented || crowd=800
"$PYTHON" "$abs_top_srcdir/tests/blkhash/parts-runs.py" crowd image "$sum" $crowd ||
  fail "see above"
rounds 40 300 30
"$PYTHON" "$abs_top_srcdir/tests/blkhash/parts-runs.py" kill slow \
  "$(reference slow)" $BLKHASH_ROUNDS || fail "see above"

# ---- All kinds of sources ----

# of_any_kind STATE OPERAND...: its parts are those of the image.
of_any_kind () {
  name=$1
  shift
  fresh
  is_silent blkhash parts $name --part 1/3 -d sha256/4k "$@" parts
  expected_part 1 3 -b 4k image
  cmp expected "$(part_file 1 3)" || fail "another part of $*"
  run 0 blkhash parts $name --audit 100% "$@" parts
  grep -q " = $(reference -b 4k image)$" stdout || fail "another sum of $*"
}
of_any_kind "--state x" --size 8m longer
if [ "$(id -u)" = 0 ] && command -v losetup > stdout &&
   device=$(loop_device image)
then
  at_exit "losetup -d $device"
  fresh
  refuses "$device: changes of a device, .* --state NAME" \
          blkhash parts $device parts
  of_any_kind "--state x" $device
fi
requires_qemu
for format in qcow2 vmdk; do
  qemu-img convert -f raw -O $format image other.$format
done
qemu-img convert -c -f raw -O qcow2 image compressed.qcow2
qemu-img create -q -f qcow2 -b other.qcow2 -F qcow2 overlay.qcow2
of_any_kind "" other.qcow2
of_any_kind "" other.vmdk
of_any_kind "" compressed.qcow2
of_any_kind "" -f qcow2 overlay.qcow2
[ "$(grep -c "^file: " parts/plan)" = 2 ] || fail "not two files in the plan"
touch other.qcow2
refuses "overlay.qcow2: $differs" blkhash parts -f qcow2 overlay.qcow2 parts
refuses "parts/plan has \"format: qcow2\", not \"format: raw\"" \
        blkhash parts image parts
BLKSUM_DIRECT=0 of_any_kind "" other.qcow2

# The log of a server shows that only the part is read, in requests of at least
# 64 KiB, although a part begins and ends within one.
requires_nbdkit --filter=log --filter=noextents --filter=blocksize-policy file
start_nbdkit --filter=blocksize-policy --filter=log --filter=noextents file \
  image logfile="$dir/log" blocksize-minimum=64K blocksize-preferred=64K \
  blocksize-error-policy=error
fresh
refuses "changes of a device, on a server, .* --state NAME" \
        blkhash parts "$uri" parts
! grep -q " Read " log || fail "read before --state was missed"
of_any_kind "--state x" "$uri"
fresh
: > log
is_silent blkhash parts -d sha256/4k --state x --part 1/7 "$uri" parts
"$PYTHON" - << 'END' || fail "not the part was read: $(grep Read log)"
import re
reads = sorted((int(offset, 16), int(count, 16)) for offset, count in
               re.findall(r" Read .*offset=(0x\w+) count=(0x\w+)",
                          open("log").read()))
# Blocks 292 to 584 of 2048, extended to 64 KiB.
assert reads[0][0] == 18 << 16 and sum(reads[-1]) == 37 << 16, reads
assert sum(count for _, count in reads) == 19 << 16, reads
END
: > log
is_silent blkhash parts --audit 0% --state x --part 1/7 "$uri" parts
! grep -q " Read " log || fail "read for a part that exists"

# The directory is replaced by that of another image during the audit: its sum is
# not printed.
requires_nbdkit eval
export dir
start_nbdkit eval get_size='echo 8388608' pread='
  [ ! -e $dir/hold ] || echo > $dir/held
  while [ -e $dir/hold ]; do sleep 0.05; done
  dd if=$dir/image skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none'
fresh
is_silent blkhash parts --state x --part 0/1 "$uri" parts
touch hold
{
  status=0
  blkhash parts --state x --audit 100% "$uri" parts > stdout 2> stderr ||
    status=$?
  echo $status > ended
} &
wait_until test -s held
mv parts first
mkdir parts
blkhash parts --state x other parts > one
rm hold
wait_until test -s ended
[ "$(cat ended)" = 2 ] && [ ! -s stdout ] || fail "printed $(cat stdout)"
says_once "parts: has another plan now"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-v2v fails if a disk differs from the data that was written, or if it
# could not be verified, whatever the exit status of virt-v2v is; then it writes
# no sum.

. "$(dirname "$0")/functions.sh"
requires_nbdkit --filter=error --filter=noextents

cd "$dir"
wanted=$(reference src)

# fails STATUS REGEX: blkhash-v2v exits with STATUS, prints a matching error,
# and leaves no result.
fails () {
  empty dst
  printf '%s\nblk-sha256/64k (old) = 00\n' "$sums_header" > sums
  mkdir -p manifests
  run "$1" blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
  [ ! "$2" ] || complains "$2"
  [ ! -s sums ] || fail "there are sums: $(cat sums)"
  [ ! "$(ls manifests)" ] || fail "there are manifests"
  nothing_left
}

# A byte of the destination changes after it was written: both sums are printed.
AFTER_COPY="printf x |
  dd of='$dir/dst' bs=1 seek=3000000 conv=notrunc status=none"
fails 1 "$dir/dst: FAILED"
grep -q "$dir/dst: written blk-sha256/64k = $wanted\$" stderr ||
  fail "the written sum is not printed"
grep -q "$dir/dst: read    blk-sha256/64k = $(reference dst)\$" stderr ||
  fail "the read sum is not printed"
# Even if virt-v2v ignores the failure.
export STATUS=0
fails 2 "fake-v2v succeeded, but a disk was not verified"
unset STATUS
# Even if another disk is right.
empty good dst
run 1 blkhash-v2v --sums sums \
    fake-v2v "$dir/src" "$dir/good" "$dir/src" "$dir/dst"
complains "$dir/dst: FAILED"
complains "verified: blk-sha256/64k ($dir/good) = $wanted"
[ ! -s sums ] || fail "the sum of one disk was written"
# With --no-reread the change is not detected, and no disk is called verified.
empty dst
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the sums differ"
! grep verified stderr || fail "a message says that the disk was verified"
AFTER_COPY=

# The destination can be written, but not read.
FILTER=--filter=error PARAMETERS='error-pread=EIO error-pread-rate=100%'
fails 1 "$dir/dst: cannot be read again"
empty dst
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the sums differ"

# The copy fails; or virt-v2v fails after it.
PARAMETERS='error-pwrite=EIO error-pwrite-rate=100%'
fails 1 ''
FILTER= PARAMETERS=
AFTER_COPY='exit 7'
fails 1 ''
AFTER_COPY=
export STATUS=9
fails 9 verified
unset STATUS

# The server that hashes is killed, or aborts because a client left with requests
# in flight: what it had beside the manifest is removed too.
AFTER_COPY='server=$(cat "${PATH%%/bin:*}"/disk.*/pid)
for ending in new saving lock; do
  true > "'$dir'/manifests/dst.blkm.unverified.blkhash-$ending"
done
kill -KILL $server'
fails 1 "$dir/dst: nbdkit failed"
AFTER_COPY=

# Zeros that nbdcopy did not write, because they are there already, are not
# counted as written.
OPTIONS=--target-is-zero
FILTER=--filter=noextents
fails 1 "$dir/dst: the copy has no sum: [0-9]* bytes are missing"
OPTIONS= FILTER=

# The destination is too small, if only for zeros.
run 0 truncate -s 9m src
empty dst
truncate -s 8m dst
run 1 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
[ ! -s sums ] || fail "a sum was written although the disk did not fit"
make_image src

# Two disks whose manifests would have the same name.
mkdir other
empty dst other/dst
run 1 blkhash-v2v --manifest-dir manifests \
    fake-v2v "$dir/src" "$dir/dst" "$dir/src" "$dir/other/dst"
complains "another disk whose manifest is dst.blkm"
rm -f manifests/dst.blkm

# The command copies nothing, or runs a nbdcopy that is not found in PATH.
for command in true "nbdcopy --version" "env PATH=$PATH fake-v2v src dst"; do
  empty dst
  run 2 blkhash-v2v --sums sums $command
  complains "copied no disk with the nbdcopy in PATH: nothing was verified"
done
run 3 blkhash-v2v --sums sums sh -c 'exit 3'

# nbdcopy runs without a source and a destination where virt-v2v has them.
for operands in '- nbd://localhost' 'src dst' 'src null:' \
                'src nbd://localhost x' '-- src nbd://localhost' \
                '[ nbdkit null ] nbd://localhost'; do
  run 2 blkhash-v2v --sums sums nbdcopy $operands
  complains 'nbdcopy'
done

# Usage errors, and errors that are detected before virt-v2v runs.
rm -f ran
touch_ran='touch ran'
refused () {
  run 2 "$@"
  [ -s stderr ] || fail "no error"
  [ ! -e ran ] || fail "the command ran"
}
refused blkhash-v2v
refused blkhash-v2v --sums
refused blkhash-v2v --sums= $touch_ran
refused blkhash-v2v --no-such $touch_ran
refused blkhash-v2v --sums none/sums $touch_ran
refused blkhash-v2v --manifest-dir none $touch_ran
refused blkhash-v2v --digest none $touch_ran
refused blkhash-v2v -d sha256/3 $touch_ran
refused blkhash-v2v "$dir/none"

# An error names each program that is missing.  The directory has all programs
# that blkhash-v2v runs.
mkdir programs
for program in sh cat grep ln ls mkdir mktemp mv rm sed sleep sort touch tr \
               wc blksum nbdcopy nbdinfo nbdkit setpriv; do
  ln -s "$(command -v $program)" "programs/$program"
done
cp "$abs_top_srcdir/filter/blkhash-v2v" programs
for program in blksum nbdcopy nbdinfo nbdkit setpriv; do
  mv "programs/$program" .
  refused env PATH="$dir/programs" "$dir/programs/blkhash-v2v" $touch_ran
  complains "$program: not found"
  mv "$program" programs
done

# nbdkit does not find the filter.
mkdir without
ln -s "$nbdkit" without/nbdkit
if ! "$nbdkit" --filter=blkhash null --version > /dev/null 2>&1; then
  refused env PATH="$dir/without:$PATH" blkhash-v2v $touch_ran
  complains 'cannot load the filters blkhash'
fi

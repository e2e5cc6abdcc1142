#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-v2v fails when a disk is not what was written to it, and when that
# could not be verified, whatever virt-v2v makes of it; then it leaves no sum.

. "$(dirname "$0")/v2v-functions.sh"
requires_nbdkit --filter=error --filter=noextents

cd "$dir"
wanted=$(reference src)

# fails STATUS REGEX: blkhash-v2v ends so, says so, and leaves nothing.
fails () {
  empty dst
  echo "blk-sha256/64k (old) = 00" > sums
  mkdir -p manifests
  run "$1" blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
  [ ! "$2" ] || complains "$2"
  [ ! -s sums ] || fail "there are sums: $(cat sums)"
  [ ! "$(ls manifests)" ] || fail "there are manifests"
  nothing_left
}

# A byte of the destination changes after it was written: both sums are told.
AFTER_COPY="printf x |
  dd of='$dir/dst' bs=1 seek=3000000 conv=notrunc status=none"
fails 1 "$dir/dst: FAILED"
grep -q "$dir/dst: written blk-sha256/64k = $wanted\$" stderr ||
  fail "does not say what was written"
grep -q "$dir/dst: read    blk-sha256/64k = $(reference dst)\$" stderr ||
  fail "does not say what was read"
# Also if virt-v2v does not care.
export STATUS=0
fails 2 "fake-v2v succeeded, but a disk was not verified"
unset STATUS
# And if another disk is good.
empty good dst
run 1 blkhash-v2v --sums sums \
    fake-v2v "$dir/src" "$dir/good" "$dir/src" "$dir/dst"
complains "$dir/dst: FAILED"
complains "verified: blk-sha256/64k ($dir/good) = $wanted"
[ ! -s sums ] || fail "there are sums of half"
# Without reading it is not seen, and nothing is called verified.
empty dst
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums || fail "the sums"
! grep verified stderr || fail "it says that it verified"
AFTER_COPY=

# The destination can be written and not be read.
FILTER=--filter=error PARAMETERS='error-pread=EIO error-pread-rate=100%'
fails 1 "$dir/dst: cannot be read again"
empty dst
run 0 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums || fail "the sums"

# The copy fails, or virt-v2v does after it.
PARAMETERS='error-pwrite=EIO error-pwrite-rate=100%'
fails 1 ''
FILTER= PARAMETERS=
AFTER_COPY='exit 7'
fails 1 ''
AFTER_COPY=
export STATUS=9
fails 9 verified
unset STATUS

# What nbdcopy did not write is not taken for what it wrote, because it is
# there.
OPTIONS=--target-is-zero
FILTER=--filter=noextents
fails 1 "$dir/dst: the copy has no sum: the content of .* bytes is not known"
OPTIONS= FILTER=

# The destination is too small, even if only zeros do not fit.
run 0 truncate -s 9m src
empty dst
truncate -s 8m dst
run 1 blkhash-v2v --no-reread --sums sums fake-v2v "$dir/src" "$dir/dst"
[ ! -s sums ] || fail "there is a sum of what did not fit"
make_image src

# Two disks whose manifests would have the same name.
mkdir other
empty dst other/dst
run 1 blkhash-v2v --manifest-dir manifests \
    fake-v2v "$dir/src" "$dir/dst" "$dir/src" "$dir/other/dst"
complains "another disk whose manifest is dst.blkm"
rm -f manifests/dst.blkm

# Nothing is copied, or not by what is found in PATH.
for command in true "nbdcopy --version" "env PATH=$PATH fake-v2v src dst"; do
  empty dst
  run 2 blkhash-v2v --sums sums $command
  complains "copied no disk with the nbdcopy in PATH: nothing was verified"
done
run 3 blkhash-v2v --sums sums sh -c 'exit 3'

# Copies of nbdcopy that have no two ends where virt-v2v has them.
for operands in '- nbd://localhost' 'src dst' 'src null:' \
                'src nbd://localhost x' '-- src nbd://localhost' \
                '[ nbdkit null ] nbd://localhost'; do
  run 2 blkhash-v2v --sums sums nbdcopy $operands
  complains 'nbdcopy'
done

# Usage, and what is found out before virt-v2v runs.
rm -f ran
touch_ran='touch ran'
refused () {
  run 2 "$@"
  [ -s stderr ] || fail "does not say why"
  [ ! -e ran ] || fail "it ran"
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

# Each program that is missing is named.  A directory with all that it runs.
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

# nbdkit without the filter.
mkdir without
ln -s "$nbdkit" without/nbdkit
if ! "$nbdkit" --filter=blkhash null --version > /dev/null 2>&1; then
  refused env PATH="$dir/without:$PATH" blkhash-v2v $touch_ran
  complains 'no filter blkhash'
fi

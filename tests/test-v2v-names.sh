#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Only a server that virt-v2v runs gives a disk its name, and by that its
# manifest.  Another process with the same arguments does not, of this user or
# of another one.

. "$(dirname "$0")/v2v-functions.sh"

cd "$dir"
wanted=$(reference src)
mkfifo told
touch other

# Becomes a process with the arguments of a server of $dir/other when it is told
# the socket, by standard input.
cat > decoy << 'END'
read socket
exec sh -c 'read line' decoy "$socket" "file=$1"
END

# This user's, but not of virt-v2v; before virt-v2v and its servers, so that it is
# found first.
sh decoy "$dir/other" <> told &
decoy=$!
kill_at_exit $decoy
BEFORE_SERVERS="echo \"\$v2v/out0\" > '$dir/told'
until grep -qszxF \"\$v2v/out0\" /proc/$decoy/cmdline; do sleep 0.1; done"
empty dst
mkdir manifests
touch manifests/other.blkm
run 0 blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums ||
  fail "the name is another process's"
[ -s manifests/dst.blkm ] && [ ! -s manifests/other.blkm ] ||
  fail "the wrong manifest"
nothing_left

# It runs below virt-v2v, but not as this user.
requires_root
requires_program setpriv
BEFORE_SERVERS="setpriv --reuid=65534 --clear-groups \
  sh -c 'read line' decoy \"\$v2v/out0\" 'file=$dir/other' <> '$dir/told' &
servers=\$!
until grep -qszxF \"\$v2v/out0\" /proc/\$!/cmdline &&
      grep -q '^Uid:.65534' /proc/\$!/status; do sleep 0.1; done"
empty dst
run 0 blkhash-v2v --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | diff - sums ||
  fail "the name is another user's"
nothing_left

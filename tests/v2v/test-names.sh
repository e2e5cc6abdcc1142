#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A disk gets the name of its file, and a manifest by that name, only from a
# server that virt-v2v runs.  Another process with the same arguments, of this
# user or of another one, is ignored.

. "$(dirname "$0")/functions.sh"

cd "$dir"
wanted=$(reference src)
mkfifo socket-name
touch other

# Reads the socket from standard input, and becomes a process with the arguments
# of a server of $dir/other.
cat > decoy << 'END'
read socket
exec sh -c 'read line' decoy "$socket" "file=$1"
END

# A process of this user, but not below virt-v2v.  It starts before virt-v2v and
# its servers, so that a search finds it first.
sh decoy "$dir/other" <> socket-name &
decoy=$!
kill_at_exit $decoy
BEFORE_SERVERS="echo \"\$v2v/out0\" > '$dir/socket-name'
until grep -qszxF \"\$v2v/out0\" /proc/$decoy/cmdline; do sleep 0.1; done"
empty dst
mkdir manifests
touch manifests/other.blkm
run 0 blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the name is that of the other process"
[ -s manifests/dst.blkm ] && [ ! -s manifests/other.blkm ] ||
  fail "the manifest has another name"
nothing_left

# A process below virt-v2v, of another user.
requires_root
requires_program setpriv
BEFORE_SERVERS="setpriv --reuid=65534 --clear-groups \
  sh -c 'read line' decoy \"\$v2v/out0\" 'file=$dir/other' <> '$dir/socket-name' &
servers=\$!
until grep -qszxF \"\$v2v/out0\" /proc/\$!/cmdline &&
      grep -q '^Uid:.65534' /proc/\$!/status; do sleep 0.1; done"
empty dst
run 0 blkhash-v2v --sums sums fake-v2v "$dir/src" "$dir/dst"
echo "blk-sha256/64k ($dir/dst) = $wanted" | sums_are sums ||
  fail "the name is that of the other user's process"
nothing_left

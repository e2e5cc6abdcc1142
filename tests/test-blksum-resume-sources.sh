#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume works with all kinds of sources.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"
requires_qemu

image=$dir/image
make_large_image "$image"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null

qemu-img convert -f raw -O qcow2 "$image" "$dir/base"
for direct in 1 0; do
  BLKSUM_DIRECT=$direct
  export BLKSUM_DIRECT
  interrupt KILL "$dir/base"
  resumes "$sum" "$dir/base"
done
unset BLKSUM_DIRECT
qemu-img convert -f raw -O vmdk "$image" "$dir/vmdk"
interrupt KILL "$dir/vmdk"
resumes "$sum" "$dir/vmdk"
qemu-img convert -c -f raw -O qcow2 "$image" "$dir/compressed"
interrupt KILL "$dir/compressed"
resumes "$sum" "$dir/compressed"

# A chain: changes of backing files count too.
qemu-img create -q -f qcow2 -b base -F qcow2 "$dir/top"
interrupt KILL -f qcow2 "$dir/top"
resumes "$sum" -f qcow2 "$dir/top"
interrupt KILL -f qcow2 "$dir/top"
touch "$dir/base"
starts_over "older than the last change of the image" "$sum" -f qcow2 "$dir/top"

# A server: nbdkit 1.32 exits when a client is killed.
serve () {
  socket=$dir/$1.sock
  qemu-nbd -r -f raw -t -e 8 -k "$socket" --fork --pid-file="$dir/$1.pid" \
    "$image"
  kill_at_exit "$(cat "$dir/$1.pid")"
  uri=nbd+unix:///?socket=$socket
}
serve a
refuses "needs --assume-unchanged" \
        blksum --resume --manifest "$dir/m" "$uri"
interrupt KILL --assume-unchanged "$uri"
refuses "needs --assume-unchanged" \
        blksum --resume --manifest "$dir/m" "$uri"
resumes "$sum" --assume-unchanged "$uri"
# The same disk at another address: the user asserts that.
interrupt KILL --assume-unchanged "$uri"
serve b
resumes "$sum" --assume-unchanged "$uri"
interrupt KILL --assume-unchanged "$uri"
starts_over "started with another image" "$sum" "$image"
# A change of a file is detected even with --assume-unchanged.
interrupt KILL --assume-unchanged "$image"
resumes "$sum" --assume-unchanged "$image"
interrupt KILL --assume-unchanged "$image"
touch "$image"
starts_over "older than the last change of the image" "$sum" --assume-unchanged "$image"
# A part of the chain is on a server.
qemu-img create -q -f qcow2 -b "$uri" -F raw "$dir/remote"
refuses "needs --assume-unchanged" \
        blksum --resume -f qcow2 --manifest "$dir/m" "$dir/remote"
interrupt KILL --assume-unchanged -f qcow2 "$dir/remote"
resumes "$sum" --assume-unchanged -f qcow2 "$dir/remote"

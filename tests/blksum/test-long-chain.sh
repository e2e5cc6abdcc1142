#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A chain of 200 files is read by a process that may open 256 files.  A longer
# one is refused, and so is a chain with a cycle.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

make_image raw
sum=$(reference raw)
qemu-img create -q -f qcow2 -F raw -b raw layer-001
qemu-img create -q -f qcow2 -F qcow2 -b layer-001 layer-002
"$PYTHON" - << 'END'
with open("layer-002", "rb") as image:
    image = image.read()
for n in range(3, 202):
    with open("layer-%03d" % n, "wb") as copy:
        copy.write(image.replace(b"layer-001", b"layer-%03d" % (n - 1)))
END
# within FILES COMMAND: runs COMMAND with this limit of open files.
within () (
  ulimit -n "$1"
  shift
  exec "$@"
)
prints_sum "$sum" blksum -f qcow2 layer-016
prints_sum "$sum" within 256 blksum -f qcow2 layer-199
prints_sum "$sum" within 256 blksum -f qcow2 layer-200
refuses "more than 200 backing files" blksum -f qcow2 layer-201

# Two files, each the backing file of the other.  Each is opened once.
qemu-img create -q -u -f qcow2 -F qcow2 -b ping pong 8m
qemu-img create -q -u -f qcow2 -F qcow2 -b pong ping 8m
refuses "a loop of them" within 40 blksum -f qcow2 ping

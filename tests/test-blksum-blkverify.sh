#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum reads from random qcow2 and vhdx images what was written to them, compared byte
# by byte by blkverify of qemu: see blkverify-random.py, which reads BLKHASH_SEED and
# BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/functions.sh"
requires_qemu
requires_program qemu-io
requires_inflating
requires_nbdkit file

rounds 8 400 50
"$PYTHON" "$abs_top_srcdir/tests/blkverify-random.py" "$dir"

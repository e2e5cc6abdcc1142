#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The sums of random qcow2 and vhdx images are those of what was written to them, which
# blkverify of qemu compares byte by byte: see blkverify-random.py, which reads
# BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io
requires_inflating

rounds 8 400 50
"$PYTHON" "$abs_top_srcdir/tests/blksum/blkverify-random.py" "$dir"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random qcow2 images have the sum of the data that qemu reads from them: see
# qcow2-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_inflating
requires_program qemu-io

rounds 8 50 25
"$PYTHON" "$abs_top_srcdir/tests/blksum/qcow2-random.py" "$dir"

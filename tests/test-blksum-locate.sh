#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A byte that differs anywhere in 6 GiB is found by two manifests, made in two
# places: see blksum-locate.py, which takes BLKHASH_SEED and BLKHASH_ROUNDS from
# the environment.

. "$(dirname "$0")/functions.sh"
requires_qemu
requires_program qemu-io

rounds 2 24 4
"$PYTHON" "$abs_top_srcdir/tests/blksum-locate.py" --dir "$dir" ||
  fail "see above"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One byte that differs in 6 GiB is found by two manifests that were made
# separately: see locate.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS
# from the environment.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io

rounds 2 24 4
"$PYTHON" "$abs_top_srcdir/tests/blkhash/locate.py" --dir "$dir" ||
  fail "see above"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whatever the disk and the repair sources do, clients of the verify filter get
# right bytes or an error, and nothing is written: runs
# test-verify-repair.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS.

with_tsan=yes
filter_name=blkhash-verify
. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit file
[ -z "$wrapper" ] || skip "nbdkit leaks by itself"
rounds 30 500 100
"$PYTHON" "$abs_top_srcdir/tests/campaign/test-verify-repair.py" \
  --filter "$filter" \
  --plugin "$abs_top_builddir/tests/.libs/faults-plugin.so" \
  --wrapper "$(echo $nbdkit_wrapper)"

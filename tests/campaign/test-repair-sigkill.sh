#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair, killed at random moments, changes no good block, and
# another run completes the repair: see blkhash/repair-random.py, which reads
# BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

[ -z "$wrapper" ] || skip "valgrind is too slow to be killed between writes"
rounds 2 50 10
mkdir "$dir/runs"
cd "$dir"
requires_direct
"$PYTHON" "$abs_top_srcdir/tests/blkhash/repair-random.py" --dir "$dir/runs" \
  --kill --no-nbdkit --no-qemu --no-strace || fail "see above"

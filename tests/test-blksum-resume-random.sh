#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume, killed at random moments, completes with the right sum: see
# blksum-resume-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/functions.sh"
requires_nbdkit file --filter=rate

[ -z "$wrapper" ] ||
  skip "valgrind is too slow for runs that are limited in time"
rounds 4 12 12
mkdir "$dir/runs"
"$PYTHON" "$abs_top_srcdir/tests/blksum-resume-random.py" --dir "$dir/runs" ||
  fail "see above"

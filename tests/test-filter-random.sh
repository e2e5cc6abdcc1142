#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random clients, four at a time, against the reference: see filter-random.py,
# which takes BLKHASH_SEED and BLKHASH_ROUNDS from the environment.  Of 200
# rounds every plugin sees some.

. "$(dirname "$0")/filter-functions.sh"

if [ -n "$nbdkit_wrapper" ]; then
  export BLKHASH_ROUNDS="${BLKHASH_ROUNDS:-3}"
fi
delay=
if [ "$SANITIZE" = no ] && delay_can_be_read; then
  delay=--delay
fi
PYTHONPATH="$abs_top_srcdir/tests" PYTHONDONTWRITEBYTECODE=1 \
  "$PYTHON" "$abs_top_srcdir/tests/filter-random.py" --filter "$filter" $delay \
  --blksum "$(real_program "$abs_top_builddir/tools/blksum")" \
  --wrapper "$(echo $nbdkit_wrapper)"

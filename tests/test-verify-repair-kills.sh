#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit is killed at random moments while the verify filter repairs a disk, and
# started again: no good block is ever damaged, and the disk is right at the end.
# BLKHASH_SEED and BLKHASH_ROUNDS, the number of kills, are read.

filter_name=blkhash-verify
. "$(dirname "$0")/filter-functions.sh"
requires_nbdkit file
requires_no_sanitizer
[ -z "$wrapper" ] || skip "nbdkit leaks by itself"
rounds 20 200 200
PYTHONPATH="$abs_top_srcdir/tests:$abs_top_srcdir/tests/campaign" \
  PYTHONDONTWRITEBYTECODE=1 \
  "$PYTHON" "$abs_top_srcdir/tests/test-verify-repair-campaign.py" --kills \
  --filter "$filter" \
  --plugin "$abs_top_builddir/tests/.libs/faults-plugin.so" \
  --wrapper "$(echo $nbdkit_wrapper)"

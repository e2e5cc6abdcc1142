#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random warm migrations with random faults: what goes wrong is found as
# docs/migration.md says, and a right disk is never called different.  Runs
# test-migration.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from
# the environment.

. "$(dirname "$0")/../filter-functions.sh"

[ -z "$wrapper" ] || skip "nbdkit leaks by itself"
requires_nbdkit --filter=cow
rounds 8 200 40
"$PYTHON" "$abs_top_srcdir/tests/campaign/test-migration.py" \
  --filter "$filter" --wrapper "$(echo $nbdkit_wrapper)"

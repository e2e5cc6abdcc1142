#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs random servers with the filter and random clients, and compares the sums
# with the reference: the short form of campaign/campaign.py, which reads
# BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

with_tsan=yes
. "$(dirname "$0")/../filter-functions.sh"

[ -z "$wrapper" ] || skip "filters of nbdkit leak by themselves"
rounds 10 2000 200
"$PYTHON" "$abs_top_srcdir/tests/campaign/campaign.py" --filter "$filter" \
  --snapshot "$abs_top_builddir/tests/.libs/snapshot-plugin.so" \
  --wrapper "$(echo $nbdkit_wrapper)"

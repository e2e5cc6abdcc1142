#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whatever the plugin and the manifest do, clients of the verify filter get right
# bytes or an error: runs test-verify.py, which reads BLKHASH_SEED and
# BLKHASH_ROUNDS from the environment.

filter_name=blkhash-verify
with_tsan=yes
. "$(dirname "$0")/../filter-functions.sh"

[ -z "$wrapper" ] || skip "nbdkit leaks by itself"
rounds 30 1000 100
"$PYTHON" "$abs_top_srcdir/tests/campaign/test-verify.py" \
  --filter "$filter" \
  --plugin "$abs_top_builddir/tests/.libs/faults-plugin.so" \
  --wrapper "$(echo $nbdkit_wrapper)"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sums, differences and errors do not depend on the number of reads in flight:
# tests of images run again with BLKSUM_DEPTH.

. "$(dirname "$0")/functions.sh"
[ -z "$wrapper" ] || skip "in valgrind they run only once"

depths=random
names='compare-random nbd-servers qcow2-random truncated'
if is_long; then
  depths='1 2 64 random'
  names="$names cache-fallback changing compare-pipe evil-server matrix
    page-cache page-cache-model qcow2-direct race shrinking signals size vhdx"
fi

for BLKSUM_DEPTH in $depths; do
  export BLKSUM_DEPTH
  for name in $names; do
    run_again $name
  done
  [ -z "$failed_again" ] || fail "with BLKSUM_DEPTH=$BLKSUM_DEPTH:$failed_again"
done

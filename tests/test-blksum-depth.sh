#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# However many reads are in flight, sums, differences and errors are the same:
# tests of images run again, with BLKSUM_DEPTH.

. "$(dirname "$0")/functions.sh"
[ -z "$wrapper" ] || skip "once is enough in valgrind"

depths='1 random'
names='compare-random nbd-servers qcow2-random truncated'
if is_long; then
  depths='1 2 64 random'
  names="$names cache-fallback changing compare-pipe evil-server matrix
    page-cache page-cache-model qcow2-direct race resume-sources shrinking
    signals size vhdx"
fi

failed=
for BLKSUM_DEPTH in $depths; do
  export BLKSUM_DEPTH
  for name in $names; do
    test=$(dirname "$0")/test-blksum-$name.sh
    status=0
    (trap - EXIT; exec "$test") > "$dir/log" 2>&1 || status=$?
    echo "BLKSUM_DEPTH=$BLKSUM_DEPTH $test: exit status $status"
    case $status in
      0) ;;
      77) grep "^SKIP" "$dir/log" ;;
      *) cat "$dir/log"; failed="$failed $BLKSUM_DEPTH:${test##*/}" ;;
    esac
  done
done
[ -z "$failed" ] || fail "with BLKSUM_DEPTH:$failed"

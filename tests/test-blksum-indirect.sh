#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The tests of blksum with qcow2 images pass also when qemu-nbd reads all of
# it: they run again, with BLKSUM_DIRECT=0.

. "$(dirname "$0")/functions.sh"
requires_qemu
[ -z "$wrapper" ] || skip "once is enough in valgrind"

export BLKSUM_DIRECT=0
failed=
for test in $(grep -l qcow2 "$(dirname "$0")"/test-blksum-*.sh); do
  case $test in
    */test-blksum-indirect.sh) continue ;;      # this one
    */test-blksum-qcow2-direct.sh | */test-blksum-qcow2-random.sh)
      continue ;;               # they set it
  esac
  status=0
  (trap - EXIT; exec "$test") > "$dir/log" 2>&1 || status=$?
  echo "$test: exit status $status"
  case $status in
    0) ;;
    77) grep "^SKIP" "$dir/log" ;;
    *) cat "$dir/log"; failed="$failed ${test##*/}" ;;
  esac
done
[ -z "$failed" ] || fail "with BLKSUM_DIRECT=0:$failed"

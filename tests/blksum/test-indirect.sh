#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tests in which a qcow2 is read directly also pass if qemu-nbd reads all of it:
# they run again with BLKSUM_DIRECT=0.  The short form has every other one of
# those about the content of images; with a sanitizer it has fewer.

. "$(dirname "$0")/../functions.sh"
requires_qemu
[ -z "$wrapper" ] || skip "in valgrind they run only once"

export BLKSUM_DIRECT=0
names='changed-early changing locks qcow2 qcow2-corrupt qcow2-state race shrinking
  truncated'
! is_long || names="$names device fake-qemu-nbd page-cache sigkill signals"
failed=
for name in $names; do
  every 2 3 || continue
  again=$(dirname "$0")/test-$name.sh
  status=0
  (trap - EXIT; exec "$again") > "$dir/log" 2>&1 || status=$?
  echo "$again: exit status $status"
  case $status in
    0) ;;
    77) grep "^SKIP" "$dir/log" ;;
    *) cat "$dir/log"; failed="$failed ${again##*/}" ;;
  esac
done
[ -z "$failed" ] || fail "with BLKSUM_DIRECT=0:$failed"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The tests of blksum in which it matters how a qcow2 is read pass also when
# qemu-nbd reads all of it: they run again, with BLKSUM_DIRECT=0.  In the short form
# those that are about what an image has in it, and some of them with a sanitizer.

. "$(dirname "$0")/functions.sh"
requires_qemu
[ -z "$wrapper" ] || skip "once is enough in valgrind"

export BLKSUM_DIRECT=0
names='changed-early changing locks qcow2 qcow2-corrupt qcow2-state race shrinking
  truncated'
! is_long || names="$names device fake-qemu-nbd page-cache sigkill signals"
for name in $names; do
  every 1 3 || continue
  run_again $name
done
[ -z "$failed_again" ] || fail "with BLKSUM_DIRECT=0:$failed_again"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume hashes a block device only with --assume-unchanged, because no change
# of it can be detected.  The audit detects a change.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"
requires_root
requires_program losetup

image=$dir/image
make_large_image "$image"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null
attach "$image"

refuses "needs --assume-unchanged" blksum --resume --manifest "$dir/m" "$device"
[ ! -e "$dir/m" ] || fail "left behind"
interrupt KILL --assume-unchanged "$device"
refuses "needs --assume-unchanged" blksum --resume --manifest "$dir/m" "$device"
# A device has no holes that can be queried.
much=314000000
resumes "$sum" --assume-unchanged "$device"
interrupt KILL --assume-unchanged "$device"
starts_over "m was started with another image" "$sum" "$image"

# The assumption is wrong, and the audit detects it.
interrupt KILL --assume-unchanged "$device"
printf x | dd of="$device" bs=1 seek=100 conv=notrunc,fsync status=none
run 1 blksum --resume --audit 100% --assume-unchanged --manifest "$dir/m" \
  "$device"
says_once "block 0 (65536 bytes at 0) differs from $dir/m"
[ ! -e "$dir/m" ] && [ ! -e "$dir/m.state" ] ||
  fail "the files were not removed"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume of a block device, of which nothing tells whether it has changed: only
# with --assume-unchanged; and what is on it and has changed is found.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"
requires_root
requires_program losetup

image=$dir/image
make_large_image "$image"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null
device=$(losetup --find --show "$image" 2> "$dir/losetup.log") ||
  skip "no loop device: $(cat "$dir/losetup.log")"
at_exit "losetup -d $device"

refuses "needs --assume-unchanged" blksum --resume --manifest "$dir/m" "$device"
[ ! -e "$dir/m" ] || fail "left behind"
ended KILL --assume-unchanged "$device"
refuses "needs --assume-unchanged" blksum --resume --manifest "$dir/m" "$device"
# A device has no holes that one can see.
much=314000000
resumes "$sum" --assume-unchanged "$device"
ended KILL --assume-unchanged "$device"
starts_over "m was begun with another image" "$sum" "$image"

# The user was wrong, and the audit finds it.
ended KILL --assume-unchanged "$device"
printf x | dd of="$device" bs=1 seek=100 conv=notrunc,fsync status=none
run 1 blksum --resume --audit 100% --assume-unchanged --manifest "$dir/m" \
  "$device"
says_once "block 0 (65536 bytes at 0) differs from $dir/m"
[ ! -e "$dir/m" ] && [ ! -e "$dir/m.state" ] || fail "it is still there"

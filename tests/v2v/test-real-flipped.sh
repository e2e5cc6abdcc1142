#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A byte of the destination changes after it was written, and before it is read
# again.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/real-functions.sh"

AFTER_COPY="printf x |
  dd of='$dir/out/guest-sda' bs=1 seek=200000000 conv=notrunc status=none"
v2v 1 virt-v2v -i disk "$dir/guest.img" -o local -os "$dir/out"
cat "$dir/stdout" "$dir/stderr"
complains "$dir/out/guest-sda: FAILED"
no_result
nothing_left

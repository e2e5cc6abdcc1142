#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A guest that virt-v2v converts to a raw disk.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/real-functions.sh"

v2v 0 virt-v2v -i disk "$dir/guest.img" -o local -os "$dir/out"
cat "$dir/stdout" "$dir/stderr"
has_sum "$dir/out/guest-sda" raw
run 0 blksum --check --strict "$dir/sums"
nothing_left

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --compare --size compares the first bytes of two disks, and tells whether what
# follows is zero.

. "$(dirname "$0")/functions.sh"
cd "$dir"

make_image long
head -c 3000000 long > short

# What has fewer bytes; it is opened, and closed once.
for order in "short long" "long short"; do
  refuses "short: has only 3000000 bytes, fewer than the 4000000" \
          blksum --compare --size 4000000 $order
done

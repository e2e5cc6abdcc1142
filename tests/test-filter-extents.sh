#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Extents of missing blocks are queried before the blocks are read, as far as
# the plugin replies, and within the limits of the plugin.

. "$(dirname "$0")/filter-functions.sh"

truncate -s 4m "$dir/zeros"

# A plugin that answers only for the beginning of the range.
serve --filter=stats eval get_size='echo 4M' pread='head -c $3 /dev/zero' \
      can_extents='exit 0' extents='echo $4 65536 hole,zero' \
      blkhash-file="$sums" statsfile="$dir/stats"
client "" 'h.pread(1, 0)'
wait_for_sum "$dir/zeros"
stop

# The answers end within blocks, at any byte.
serve eval get_size='echo 4M' pread='head -c $3 /dev/zero' \
      can_extents='exit 0' extents='case $4 in
        0) echo 0 4096 ;;
        *) echo $4 1000001 hole,zero ;;
      esac' \
      blkhash-file="$sums" blkhash-missing=fail
client "" 'h.pread(4096, 0)'
wait_for_sum "$dir/zeros"
stop

# A plugin that answers beyond the range, which is of 1 GiB.
truncate -s 1100m "$dir/many-zeros"
serve eval get_size='echo 1100M' pread='head -c $3 /dev/zero' \
      can_extents='exit 0' extents='echo $4 $((1100 * 1048576 - $4)) hole,zero' \
      blkhash-file="$sums" blkhash-missing=fail
client "" 'h.pread(1, 0)'
wait_for_sum "$dir/many-zeros"
stop

# A plugin with block size constraints.
for filters in "" --filter=noextents; do
  serve --filter=blocksize-policy $filters memory 4M \
        blocksize-minimum=4096 blocksize-maximum=65536 \
        blocksize-error-policy=error blkhash-file="$sums"
  client "" 'h.pwrite(bytes(4096), 8192)'
  wait_for_sum "$dir/zeros"
  stop
done

# If extents fail, the blocks are read.
serve eval get_size='echo 4M' pread='head -c $3 /dev/zero' \
      can_extents='exit 0' extents='echo EIO Bad >&2; exit 1' \
      blkhash-file="$sums"
client "" 'h.pread(3 << 20, 0)'
wait_for_sum "$dir/zeros"
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Extents of missing blocks are queried before the blocks are read, as far as
# the plugin replies, and within the limits of the plugin.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer "shells do not run with the sanitizer"

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

# Extents that are wrong.  The client queries them and reads, in both orders; then
# there is no sum.  Without them there is one.
yes | head -c 1048576 > "$dir/yes"
lying () {
  serve "$@" eval get_size='echo 1M' pread='yes | head -c $3' \
        can_extents='exit 0' extents='echo 0 1M hole,zero' \
        blkhash-file="$sums"
}
wrong="zeros were reported at offset 65536, but other data was read"
for code in 'query(); h.pread(4096, 65536)' 'h.pread(4096, 65536); query()'; do
  lying
  client "" "query = lambda: h.block_status(1 << 20, 0, lambda *a: 0); $code"
  wait_for_line "# unknown -: $wrong"
  stop
  no_sum
done
lying --filter=noextents
client "" 'h.pread(1 << 20, 0); h.block_status(1 << 20, 0, lambda *a: 0)'
wait_for_sum "$dir/yes"
stop

# nbdkit's ext2 filter of 1.32 passes on the extents of the image that has the
# file.  The file begins with data where the image has a hole.
if command -v mke2fs > /dev/null &&
   nbdkit --filter=ext2 null --version > /dev/null 2>&1; then
  mkdir "$dir/root"
  head -c 4194304 /dev/urandom > "$dir/root/file"
  run 0 env PATH="$PATH:/sbin:/usr/sbin" \
      mke2fs -q -t ext2 -b 4096 -d "$dir/root" "$dir/fs" 32m
  run 0 cp --sparse=always "$dir/fs" "$dir/sparse"
  serve --filter=ext2 file "$dir/sparse" ext2file=/file blkhash-file="$sums"
  client "" 'h.block_status(4 << 20, 0, lambda *a: 0)
for at in range(0, 4 << 20, 1 << 20): h.pread(1 << 20, at)'
  wait_for_sum "$dir/root/file" # the filter has read the rest, without extents
  stop
  serve --filter=noextents --filter=ext2 file "$dir/sparse" ext2file=/file \
        blkhash-file="$sums"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/root/file"
  stop
fi

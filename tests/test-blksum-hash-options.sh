#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The sum depends on the block size and the construction, as in the reference,
# and never on the number of threads.

. "$(dirname "$0")/functions.sh"

make_image "$dir/image"
from_pipe () { cat "$dir/image" | blksum "$@"; }

# Small blocks of a small image: the reference is slow.
truncate -s 100001 "$dir/small"
write_data "$dir/small" 5000 40000
for size in 4 8 16 64 256; do
  prints_sum "$(reference -b $size "$dir/small")" \
             blksum -b $size "$dir/small"
done
for size in 512 4096 65536 131072 1048576 4194304 16777216; do
  sum=$(reference -b $size "$dir/image")
  prints_sum "$sum" blksum -b $size "$dir/image"
  prints_sum "$sum" from_pipe -b $size
  prints_sum "$sum" blksum -b $size -t 3 --no-extents "$dir/image"
done

for streams in 1 2 4 32 64 1024; do
  sum=$(reference -s $streams "$dir/image")
  prints_sum "$sum" blksum --streams $streams "$dir/image"
  prints_sum "$sum" from_pipe --streams $streams
  prints_sum "$(reference -s $streams -b 4096 "$dir/image")" \
             blksum --streams $streams -b 4k "$dir/image"
done
prints_sum "$(reference "$dir/image")" blksum --streams 0 "$dir/image"

# The sum of 1 MiB of 0x55 with 64 streams was published.
head -c 1048576 /dev/zero | tr '\0' '\125' > "$dir/55"
prints_sum 2a6d5ed17da97865da0fd3ca9a792f3bfaf325940c44fd6a2f0a224a051eb6f0 \
           blksum --streams 64 "$dir/55"

for size in 4096 524288 4194304; do
  for digest in sha256 md5 blake2b512; do
    sum=$(reference --linear -d $digest -b $size "$dir/image")
    prints_sum "$sum" blksum --linear -d $digest -b $size "$dir/image"
    prints_sum "$sum" from_pipe -d $digest -b $size --linear
    prints_sum "$sum" blksum --linear -b $size -d $digest -t 3 --no-extents \
                      "$dir/image"
  done
done
# The last block can be shorter, and there can be no block.
for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size "$dir/image" > "$dir/short"
  prints_sum "$(reference --linear "$dir/short")" blksum --linear "$dir/short"
  truncate -s $size "$dir/hole"
  prints_sum "$(reference --linear "$dir/hole")" blksum --linear "$dir/hole"
  rm "$dir/hole"
done
truncate -s 6g "$dir/sparse"
write_data "$dir/sparse" 5000000000 100000
prints_sum "$(reference --linear "$dir/sparse")" blksum --linear "$dir/sparse"
refuses "--linear cannot be used with --streams.*" \
        blksum --linear --streams 4 "$dir/image"

sum=$(reference "$dir/image")
streams_sum=$(reference -s 64 "$dir/image")
for threads in 1 2 3 7 16 64 128; do
  prints_sum "$sum" blksum -t $threads "$dir/image"
  prints_sum "$sum" from_pipe -t $threads
  prints_sum "$streams_sum" blksum -t $threads --streams 64 "$dir/image"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# With NBD servers that have few features or send odd replies, the sum is that
# of the data that reads return.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit file eval pattern data --filter=noextents \
  --filter=blocksize-policy --filter=limit --filter=multi-conn \
  --filter=noparallel

make_image "$dir/image"
sum=$(reference "$dir/image")

# serves SUM ARGUMENT...: starts nbdkit; blksum prints SUM, and does not hang.
# Each time a new server: an old one may not have noticed yet that its last
# client has disconnected.
serves () {
  wanted=$1
  shift
  for options in "" "-t 1" "--no-extents"; do
    start_nbdkit "$@"
    prints_sum "$wanted" timeout $limit blksum $options "$uri"
  done
}

serves "$sum" file "$dir/image"
serves "$sum" --filter=noextents file "$dir/image"
serves "$sum" --filter=noparallel file "$dir/image"
serves "$sum" --filter=multi-conn file "$dir/image" multi-conn-mode=disable

# Options for the queue.
start_nbdkit file "$dir/image"
for options in "--queue-depth 1" "--queue-size 1" "--queue-size 1g" \
               "--queue-depth 1024 --read-size 512" "--read-size 32m" \
               "--read-size 4097" "-t 64"; do
  prints_sum "$sum" blksum $options "$uri"
done

# The server accepts one connection, although it advertises multi-conn.
serves "$sum" --filter=limit --filter=multi-conn file "$dir/image" \
       limit=1 multi-conn-mode=emulate

# Block size constraints.  The size is a multiple of the minimum.
for sizes in "4096 65536" "65536 33554432" "1 65536"; do
  set -- $sizes
  start_nbdkit --filter=blocksize-policy file "$dir/image" \
               blocksize-error-policy=error blocksize-minimum=$1 \
               blocksize-preferred=65536 blocksize-maximum=$2
  for options in "" "-b 1m" "-b 4k" "-b 1m --no-extents" "-b 512" \
                 "--read-size 512"; do
    case $options in
      "-b "*) size=${options#-b }; size=${size%% *} ;;
      *) size=64k ;;
    esac
    case $size in
      *k) bytes=$((${size%k} * 1024)) ;;
      *m) bytes=$((${size%m} * 1048576)) ;;
      *) bytes=$size ;;
    esac
    prints_sum "$(reference -b $bytes "$dir/image")" blksum $options "$uri"
  done
done

# A hole that is not reported as zero can have any content.
pread='{ yes | head -c $(($4 % 2 + $3)) | tail -c $3; }'
yes | head -c 1048576 > "$dir/yes"
serves "$(reference "$dir/yes")" eval get_size='echo 1m' pread="$pread" \
       can_extents='exit 0' extents='echo 0 1m hole'

# Extents of one byte, every other one a hole.
truncate -s 3000 "$dir/small"
serves "$(reference "$dir/small")" eval get_size='echo 3000' \
       pread='head -c $3 /dev/zero' can_extents='exit 0' \
       extents='i=$4; while [ $i -lt 3000 ]; do
                  [ $((i % 2)) = 0 ] && echo $i 1 hole,zero || echo $i 1
                  i=$((i + 1)); done'

# A server that reports extents of at most 4 GiB, and nothing beyond the
# request.
truncate -s 20g "$dir/holes"
write_data "$dir/holes" 9876543210 70000
start_nbdkit file "$dir/holes"
prints_sum "$(reference -b 1048576 "$dir/holes")" blksum -b 1m "$uri"

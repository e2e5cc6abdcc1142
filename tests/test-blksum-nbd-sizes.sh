#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit serves images of odd sizes: the sum is that of the raw file.

. "$(dirname "$0")/functions.sh"
requires_nbdkit file pattern --filter=delay

for size in 0 1 511 512 70000 65535 65536 65537 1048577; do
  : > "$dir/data"
  write_data "$dir/data" 0 $size
  start_nbdkit file "$dir/data"
  prints_sum "$(reference "$dir/data")" blksum "$uri"
  kill "$server"
done

# Few buffers, and more threads than connections: a buffer that was read must
# wake a thread that hashes it, not one that waits for memory.
start_nbdkit pattern 160m
for options in "-b 16m" "-b 1m --read-size 32m"; do
  run 0 blksum -t 1 $options "$uri"
  wanted=$(cut -d' ' -f1 < "$dir/stdout")
  prints_sum "$wanted" timeout 100 blksum -t 8 $options "$uri"
done
kill "$server"

# Replies that are late: the number of reads in flight grows.
start_nbdkit --filter=delay pattern 160m rdelay=20ms
for options in "-t 1" "-t 8" "-t 8 --read-size 64k"; do
  prints_sum "$wanted" timeout 100 blksum -b 1m $options "$uri"
done
kill "$server"

# As an export with holes, with a name, and by TCP on the loopback.
make_image "$dir/image"
sum=$(reference "$dir/image")
start_nbdkit file dir="$dir"
prints_sum "$sum" blksum "nbd+unix:///image?socket=$socket"
refuses 'nbd+unix:///none?socket=.*: ' blksum "nbd+unix:///none?socket=$socket"

# nbdkit cannot choose a free port: try several.
for port in 10810 21637 32099 43210; do
  if nbdkit -i 127.0.0.1 -p $port -P "$dir/tcp.pid" file "$dir/image" \
            2> "$dir/tcp.log"; then
    wait_until test -s "$dir/tcp.pid"
    kill_at_exit "$(cat "$dir/tcp.pid")"
    prints_sum "$sum" blksum "nbd://127.0.0.1:$port"
    break
  fi
done

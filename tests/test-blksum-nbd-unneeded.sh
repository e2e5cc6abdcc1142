#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An NBD server that never replies to some requests does not keep blksum from
# its result, if the replies are not needed.

. "$(dirname "$0")/functions.sh"
requires_nbd

# Block status that was requested ahead on one connection, and was also got by
# another one.  A request for it is at most 2 GiB long.
size=2147549184
truncate -s $size "$dir/image"
write_data "$dir/image" 0 4194304
write_data "$dir/image" 2147483648 65536
sum=$(blksum --no-names "$dir/image")
start_evil_server "$dir/image" hold-ahead 4194304
prints_sum "$sum" timeout $limit blksum --no-names -t 2 --read-size 64k \
           --queue-depth 4 "$uri"
stop_evil_server

# Reads after the first data of a search.
truncate -s 33554432 "$dir/disk"
write_data "$dir/disk" 0 1114112
sum=$(head -c 1048576 "$dir/disk" | blksum --no-names)
start_evil_server "$dir/disk" hold-after 1114112
run 0 timeout $limit blksum --expect "$sum" --size 1m --read-size 64k \
      "$uri"
[ "$(tail -n 1 "$dir/stdout")" = \
  "$uri: what follows is not zero, from offset 1048576 on" ] ||
  fail "the data after the image was not found"
stop_evil_server

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An NBD server that never replies to some requests does not keep blksum from
# its result, if the replies are not needed.

. "$(dirname "$0")/../functions.sh"
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

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit serves images of odd sizes: the sum is that of the raw file.

. "$(dirname "$0")/../functions.sh"
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

# nbdkit cannot choose a free port, but takes a socket that listens.
"$PYTHON" -c 'import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
os.dup2(server.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
with open(sys.argv[1] + ".new", "w") as file:
    file.write("%d\n" % server.getsockname()[1])
os.rename(sys.argv[1] + ".new", sys.argv[1])
os.execvp("nbdkit", ["nbdkit", "-f", "file", sys.argv[2]])' "$dir/port" "$dir/image" &
kill_at_exit $!
wait_until test -s "$dir/port"
prints_sum "$sum" blksum "nbd://127.0.0.1:$(cat "$dir/port")"

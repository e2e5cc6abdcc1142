#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum fails if an NBD server does not exist, ends, or returns an error.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit file eval pattern --filter=error

refuses "nbd+unix:///?socket=$dir/none: " blksum "nbd+unix:///?socket=$dir/none"
refuses "nbd://localhost:1: " blksum nbd://localhost:1
refuses "nbd:///:::x: " blksum nbd:///:::x
for scheme in http https foo; do
  refuses "$scheme://bar: is not an NBD URI; nbdkit .* curl URL --run 'blksum \"\$uri\"'$" \
          blksum $scheme://bar
done
refuses "nbd+unix://: .*qcow2" blksum -f qcow2 nbd+unix://

# The server dies midway.
start_nbdkit pattern 64m
refuses "socket=$socket: " midway "kill -9 $server" "$uri"
refuses "socket=$socket: " blksum "$uri"

# The server dies while all readers wait for it.
write_data "$dir/data" 0 33554432
start_evil_server "$dir/data" hold-read "$dir/reached"
dies () {
  (wait_until test -e "$dir/reached"; kill -9 "$server") &
  blksum "$uri"
}
refuses "socket=$socket: " dies

# Reads fail, at random or in the second half.  Another operand follows.
start_nbdkit --filter=error pattern 64m error-pread-rate=50%
refuses "socket=$socket: .*Input/output error" blksum "$uri"
printf hello > "$dir/b"
run 2 blksum "$uri" "$dir/b"
[ "$(cat "$dir/stdout")" = "$(reference "$dir/b")  $dir/b" ] ||
  fail "the next operand was not hashed"

start_nbdkit eval get_size='echo 64m' pread='
  if [ $4 -ge 33554432 ]; then echo EIO no good >&2; exit 1; fi
  head -c $3 /dev/zero'
refuses "socket=$socket: .*offset [0-9]*: Input/output error" blksum "$uri"

# Extents fail: everything is read.
export dir
cp "$dir/data" "$dir/disk"
truncate -s 64m "$dir/disk"
start_nbdkit eval get_size='echo 64m' can_extents='exit 0' \
             extents='echo EIO no good >&2; exit 1' \
             pread='dd if=$dir/disk skip=$4 count=$3 status=none \
                    iflag=skip_bytes,count_bytes'
run 0 blksum "$uri"
[ "$(cat "$dir/stdout")" = "$(reference "$dir/disk")  $uri" ] ||
  fail "wrong sum without extents"
says_once "$uri: cannot get extents at offset 0: .*Input/output error; .*data"

# The server speaks another protocol.
printf 'HTTP/1.0 400 Bad Request\r\n\r\n' > "$dir/reply"
"$PYTHON" - "$dir/http.sock" "$dir/reply" << 'END' &
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(1)
client, _ = server.accept()
client.sendall(open(sys.argv[2], "rb").read())
END
kill_at_exit $!
wait_until test -S "$dir/http.sock"
refuses "socket=$dir/http.sock: " blksum "nbd+unix:///?socket=$dir/http.sock"

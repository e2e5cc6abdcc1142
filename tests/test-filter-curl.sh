#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The filter hashes a disk on a web server.

. "$(dirname "$0")/filter-functions.sh"
requires_nbdkit curl

make_image "$dir/image"
cat > "$dir/server.py" << 'END'
import http.server, os, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "unix"
    def log_message(self, *args): pass
    def do_HEAD(self): self.reply(False)
    def do_GET(self): self.reply(True)
    def reply(self, body):
        data = open(sys.argv[2], "rb").read()
        wanted = self.headers.get("Range")
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        if wanted:
            first, last = map(int, wanted[len("bytes="):].split("-"))
            self.send_header("Content-Range", "bytes %d-%d/%d" %
                             (first, last, len(data)))
            data = data[first:last + 1]
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128
Server(sys.argv[1], Handler).serve_forever()
END
"$PYTHON" "$dir/server.py" "$dir/web.sock" "$dir/image" &
kill_at_exit $!
wait_until test -S "$dir/web.sock"

serve curl http://localhost/image unix-socket-path="$dir/web.sock" \
      blkhash-file="$sums" blkhash-name=image
copy "$uri" "$dir/copy"
cmp "$dir/image" "$dir/copy" || fail "the copy differs"
wait_for_sum "$dir/image" image
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A sparse image on a web server is fetched by its data only, because the
# manifest says what is zero; and a mirror that has another one is found out.

. "$(dirname "$0")/verify-functions.sh"
requires_nbdkit curl

rm "$image"
truncate -s 256m "$image"
write_data "$image" 5000000 3000000
write_data "$image" 200000000 1000000
blksum --manifest "$manifest" --tag "$image" > "$dir/sum"
tagged=$(cat "$dir/sum")

cat > "$dir/server.py" << 'END'
import http.server, os, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def address_string(self): return "unix"
    def log_message(self, *args): pass
    def do_HEAD(self): self.reply(False)
    def do_GET(self): self.reply(True)
    def reply(self, body):
        size = os.path.getsize(sys.argv[2])
        wanted = self.headers.get("Range")
        first, last = map(int, wanted[len("bytes="):].split("-")) if wanted \
            else (0, size - 1)
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        if wanted:
            self.send_header("Content-Range", "bytes %d-%d/%d" %
                             (first, last, size))
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        if body:
            with open(sys.argv[2], "rb") as f:
                f.seek(first)
                self.wfile.write(f.read(last + 1 - first))
            with open(sys.argv[3], "a") as f:
                f.write("%d\n" % (last + 1 - first))
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128
Server(sys.argv[1], Handler).serve_forever()
END
"$PYTHON" "$dir/server.py" "$dir/web.sock" "$image" "$dir/fetched" &
kill_at_exit $!
wait_until test -S "$dir/web.sock"

# The plugin fetches a byte more for some connections.
verify curl http://localhost/image unix-socket-path="$dir/web.sock"
copy "$uri" "$dir/copy"
cmp "$image" "$dir/copy" || fail "the copy differs"
fetched=$("$PYTHON" -c 'import sys; print(sum(map(int, sys.stdin)))' \
          < "$dir/fetched")
blocks=$("$PYTHON" -c "
with open('$image', 'rb') as f:
    print(sum(any(b) for b in iter(lambda: f.read(65536), b'')))")
[ "$fetched" -le $((blocks * 65536 + 1000)) ] ||
  fail "fetched $fetched bytes of $blocks blocks"
stop

flip "$image" 6000000
verify curl http://localhost/image unix-socket-path="$dir/web.sock"
run 1 nbdcopy --requests 1 -C 1 "$uri" "$dir/copy"
logged 1 "blkhash-verify: 65536 bytes at 5963776 are not what $manifest says"
stop

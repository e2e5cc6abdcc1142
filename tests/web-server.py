#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A web server on the loopback with ranges, also a proxy that replaces all others.

    web-server.py DIR PORT-FILE [LOG]

For any host, the last part of the path is a file in DIR.  The port is written
to PORT-FILE when the server listens, and to LOG a line for each reply: how many
bytes of a file it has.
"""

import http.server
import os
import re
import sys


def log(count):
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a") as file:
            file.write("%d\n" % count)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = os.path.join(sys.argv[1], os.path.basename(self.path))
        try:
            with open(name, "rb") as file:
                self.send_file(file, os.fstat(file.fileno()).st_size)
        except FileNotFoundError:
            self.send_error(404)

    do_HEAD = do_GET

    def send_file(self, file, size):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)",
                              self.headers.get("Range", ""))
        start, end = map(int, wanted.groups()) if wanted else (0, size - 1)
        end = min(end, size - 1)
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start + 1))
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end}/{size}")
        self.end_headers()
        if self.command == "GET":
            file.seek(start)
            self.wfile.write(file.read(end - start + 1))
            log(end - start + 1)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


with Server(("127.0.0.1", 0), Handler) as server:
    with open(sys.argv[2] + ".new", "w") as file:
        file.write("%d\n" % server.server_port)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    server.serve_forever()

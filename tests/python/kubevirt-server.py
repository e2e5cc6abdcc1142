#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The export server of a backup of KubeVirt, on the loopback.

    kubevirt-server.py DIR [FAULT]

Written from the source of virt-exportserver.  In DIR are the files disk, map
(JSON, a list of extents), token, cert.pem and key.pem.  GET /map?offset=N
returns a page of two extents, and GET /data?offset=N&length=N bytes of the disk,
in chunks and without a length, as KubeVirt does.  The port is written to
DIR/port, and to DIR/requests a line for each request with the right token.

FAULT is one of:

the map:
  full           the types of a full map, without a change of the ranges
  zero           all ranges are zeros, in a map of either kind
  two-kinds      the second page is of a full map
  unknown        a description that is none of KubeVirt's
  wrong-type     type 0 is described as dirty
  missing-page   each page but the last begins one range later than it should
  no-page        the second page has null instead of extents
  empty-page     the second page has no extents, and is its own next one
  same-page      the first page, whatever the offset
  gap, overlap   the second range begins one byte later, or earlier
  empty          the first range has no bytes
  no-next        no member next_offset
  cut-page       each page ends within its text
  more-members   members that KubeVirt does not have
  hang-map       no reply for the second page

the data:
  short          one byte less than requested
  long           one byte more
  cut            the connection is closed in the middle
  no-range       from offset 0, whatever was requested
  slow           ten pieces, with a flush between them
  hang           no reply
  closes         the connection is closed after each reply, without notice

both:
  forbidden      403, with a reason that clears a terminal
  redirect       to the same path on another host
"""

import http.server
import json
import os
import ssl
import sys
import threading
import urllib.parse

PAGE = 2                        # extents

directory = sys.argv[1]
fault = sys.argv[2] if len(sys.argv) > 2 else ""
lock = threading.Lock()


def path(name):
    return os.path.join(directory, name)


def read_map():
    with open(path("map")) as file:
        extents = json.load(file)
    if fault == "full":
        for extent in extents:
            extent["description"] = ("data", "hole", "zero",
                                     "hole,zero")[extent["type"]]
    if fault == "zero":
        for extent in extents:
            extent.update(type=2, description="zero")
    if fault == "two-kinds":
        extents[2].update(type=0, description="data")
    if fault == "unknown":
        extents[1].update(type=8, description="unknown")
    if fault == "wrong-type":
        extents[1].update(type=0, description="dirty")
    if fault == "gap":
        extents[1]["offset"] += 1
    if fault == "overlap":
        extents[1]["offset"] -= 1
    if fault == "empty":
        extents.insert(0, dict(extents[0], length=0))
    if fault == "more-members":
        extents = [dict(extent, node={"id": 7}) for extent in extents]
    return extents


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        with open(path("token")) as file:
            if self.headers.get("x-kubevirt-export-token") != file.read():
                return self.send_error(401)
        with lock, open(path("requests"), "a") as file:
            file.write(self.path + "\n")
        if fault == "forbidden":
            return self.send_error(403, "\x1b[2J")
        if fault == "redirect":
            self.send_response(302)
            self.send_header("Location", f"https://localhost{self.path}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        offset = int(query.get("offset", 0))
        if url.path == "/map":
            self.send_map(offset)
        elif url.path == "/data":
            self.send_data(offset, int(query["length"]))
        else:
            self.send_error(404)
        if fault == "closes":
            self.close_connection = True

    def send_map(self, offset):
        if fault == "hang-map" and offset > 0:
            threading.Event().wait()
        if fault == "same-page":
            offset = 0
        extents = [e for e in read_map() if e["offset"] + e["length"] > offset
                   or fault == "empty"]
        page, rest = extents[:PAGE], extents[PAGE:]
        if fault == "missing-page" and len(rest) > 1:
            del rest[0]
        if fault == "no-page" and offset > 0:
            page = None
        reply = {"extents": page,
                 "next_offset": rest[0]["offset"] if rest else None}
        if fault == "empty-page" and offset > 0:
            reply = {"extents": [], "next_offset": offset}
        if fault == "no-next":
            del reply["next_offset"]
        if fault == "more-members":
            reply["version"] = "v2"
        text = json.dumps(reply).encode()
        if fault == "cut-page":
            text = text[:-9]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def send_data(self, offset, length):
        if fault == "hang":
            threading.Event().wait()
        length += {"short": -1, "long": 1}.get(fault, 0)
        if fault == "no-range":
            offset, length = 0, os.path.getsize(path("disk"))
        with open(path("disk"), "rb") as file:
            file.seek(offset)
            data = file.read(length)
        data += bytes(length - len(data))       # for long
        step = len(data) // 10 + 1 if fault == "slow" else len(data)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(data), step):
            piece = data[start:start + step]
            self.wfile.write(b"%x\r\n" % len(piece))
            if fault == "cut":
                self.wfile.write(piece[:len(piece) // 2])
                self.close_connection = True
                return
            self.wfile.write(piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        # A client that refuses a reply closes the connection.
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(path("cert.pem"), path("key.pem"))
with Server(("127.0.0.1", 0), Handler) as server:
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    with open(path("port.new"), "w") as file:
        file.write("%d\n" % server.server_port)
    os.rename(path("port.new"), path("port"))
    server.serve_forever()

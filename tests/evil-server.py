#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An NBD server that does one thing wrong.

    evil-server.py SOCKET FILE [FAULT [NUMBER|REACHED]]

Serves FILE on the Unix socket SOCKET, with structured replies and extents that
are all data, until it is killed.  FAULT is one of:

read replies:
  half          the first half of the data, and the end of the reply
  none          only the end of the reply
  hole          a hole of length 0, and the end of the reply
  empty         data of length 0, and the end of the reply
  long          one byte more than requested
  elsewhere     the data, with an offset after the range
  error         an error, with a text
  late-error    half of the data, then an error at an offset
  simple-error  an error in a simple reply
  cookie        the cookie of no request
  reverse       the last request first, and its chunks in reverse order
  die           closes the connection within a reply, after NUMBER bytes

extents:
  extents-zero        a length of 0
  extents-none        a chunk without an extent
  extents-no-chunk    no chunk
  extents-long        each of length 2^32 - 1
  extents-context     of a context that was not requested
  extents-error       an error
  extents-short       one extent of at most NUMBER bytes; zeros are reported
  extents-late-error  as extents-short, an error in the second half of FILE

a dirty bitmap, qemu:dirty-bitmap:evil, in which NUMBER, OFFSET+LENGTH, is
dirty:
  bitmap           correct
  bitmap-names     correct, among many bitmaps, with names of any bytes
  bitmap-unlisted  correct, but cannot be listed
  bitmap-short     one extent of at most 4096 bytes in each reply
  bitmap-beyond    its last extent is 2^32 - 1 bytes long, and dirty
  bitmap-zero      a length of 0
  bitmap-none      a chunk without an extent
  bitmap-no-chunk  only base:allocation
  bitmap-twice     all clean, then the correct one
  bitmap-error     an error in the second half of FILE
  bitmap-denied    listed, but cannot be selected
  bitmap-gone      the server closes the connection within the list

negotiation:
  size          NUMBER bytes
  block-size    NUMBER is MIN,PREFERRED,MAX
  second-hangs  multi-conn is advertised, only the first connection gets replies
  second-small  multi-conn is advertised, later connections have another size
  second-gone   multi-conn is advertised, later connections are closed

no reply; the file REACHED is created at the first one that is missing:
  hold-open     to the option that opens the export
  hold-extents  to a request for extents
  hold-read     to a read
  hold-64       to any read; REACHED is created when there are 64

no reply, for ever:
  hold-ahead    multi-conn is advertised, only NUMBER bytes and the last extent
                are data; the first request for that extent gets no reply, and
                reads of its connection get none until the last byte was read

the first read gets a reply; when the client has disconnected, the file REACHED
has the number of reads without a reply, and for how many seconds the client was
connected:
  first         no other read gets a reply
  late          others get replies when the client sends nothing more

the end:
  no-close      the server does nothing after the client has sent NBD_CMD_DISC
"""

import mmap
import os
import select
import socket
import struct
import sys
import threading
import time

OPT_EXPORT_NAME, OPT_ABORT, OPT_GO = 1, 2, 7
OPT_STRUCTURED_REPLY, OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT = 8, 9, 10
REP_ACK, REP_INFO, REP_META_CONTEXT = 1, 3, 4
REP_ERR_UNSUP = 2 ** 31 + 1
INFO_EXPORT, INFO_BLOCK_SIZE = 0, 3
CMD_READ, CMD_DISC, CMD_BLOCK_STATUS = 0, 2, 7
FLAGS = 1 | 2                   # read-only
FLAG_MULTI_CONN = 1 << 8
DONE = 1
NONE, DATA, HOLE, BLOCK_STATUS = 0, 1, 2, 5
ERROR, ERROR_OFFSET = 2 ** 15 + 1, 2 ** 15 + 2
STATE_HOLE, STATE_ZERO = 1, 2
EIO = 5
CONTEXT, BITMAP_CONTEXT = 1, 2
BITMAP = b"qemu:dirty-bitmap:evil"


class Gone(Exception):
    """The client or the server closes the connection."""


class Connection:
    # For hold-ahead.
    held_one = threading.Event()
    read_all = threading.Event()

    def __init__(self, sock, number, data, fault, argument):
        self.sock, self.number, self.data = sock, number, data
        self.fault, self.argument = fault, argument
        self.bytes_read = 0
        self.has_bitmap = False
        self.reads = []         # without a reply
        self.is_held = False
        self.answered = 0
        self.start = time.monotonic()

    def recv(self, count):
        got = b""
        while len(got) < count:
            more = self.sock.recv(count - len(got))
            if not more:
                raise Gone
            got += more
        return got

    def send(self, fmt, *values):
        tail = b""
        if values and isinstance(values[-1], bytes):
            *values, tail = values
        self.sock.sendall(struct.pack(">" + fmt, *values) + tail)

    def hold(self, fault):
        if self.fault == fault:
            open(self.argument, "w").close()
            threading.Event().wait()

    # ---- Negotiation ----

    def reply(self, option, kind, payload=b""):
        self.send("QIII", 0x3e889045565a9, option, kind, len(payload), payload)

    def send_export(self, option):
        size, flags = len(self.data), FLAGS
        if self.fault == "size":
            size = int(self.argument)
        if self.fault.startswith("second-") or self.fault == "hold-ahead":
            flags |= FLAG_MULTI_CONN
            if self.fault == "second-small" and self.number > 1:
                size //= 2
        if self.fault == "block-size":
            sizes = [int(n) for n in self.argument.split(",")]
            self.reply(option, REP_INFO,
                       struct.pack(">HIII", INFO_BLOCK_SIZE, *sizes))
        self.reply(option, REP_INFO,
                   struct.pack(">HQH", INFO_EXPORT, size, flags))
        self.reply(option, REP_ACK)

    def send_context(self, option, number, name):
        self.reply(option, REP_META_CONTEXT, struct.pack(">I", number) + name)

    def list_contexts(self, option):
        if self.fault == "bitmap-unlisted":
            return self.reply(option, REP_ERR_UNSUP)
        self.send_context(option, 0, b"base:allocation")
        if self.fault == "bitmap-gone":
            raise Gone
        if self.fault.startswith("bitmap"):
            self.send_context(option, 0, BITMAP)
        if self.fault == "bitmap-names":
            for i in range(1000):
                name = bytes(c for c in range(1, 256) if c % 3 == i % 3)
                self.send_context(option, 0, BITMAP + name * (i % 10))
        self.reply(option, REP_ACK)

    def set_contexts(self, option, payload):
        self.send_context(option, CONTEXT, b"base:allocation")
        self.has_bitmap = self.fault.startswith("bitmap") and \
            self.fault != "bitmap-denied" and payload.find(BITMAP) != -1
        if self.has_bitmap:
            self.send_context(option, BITMAP_CONTEXT, BITMAP)
        self.reply(option, REP_ACK)

    def negotiate(self):
        self.send("QQH", 0x4e42444d41474943, 0x49484156454f5054, 3)
        self.recv(4)
        while True:
            _, option, length = struct.unpack(">QII", self.recv(16))
            payload = self.recv(length)
            if option == OPT_GO:
                self.hold("hold-open")
                return self.send_export(option)
            if option == OPT_STRUCTURED_REPLY:
                self.reply(option, REP_ACK)
            elif option == OPT_LIST_META_CONTEXT:
                self.list_contexts(option)
            elif option == OPT_SET_META_CONTEXT:
                self.set_contexts(option, payload)
            elif option == OPT_ABORT:
                raise Gone
            else:
                self.reply(option, REP_ERR_UNSUP)

    # ---- Replies ----

    def chunk(self, kind, cookie, payload=b"", flags=0):
        self.send("IHHQI", 0x668e33ef, flags, kind, cookie, len(payload),
                  payload)

    def data_chunk(self, cookie, offset, length, said=None, flags=0, more=b""):
        self.chunk(DATA, cookie, struct.pack(
            ">Q", offset if said is None else said) +
            self.data[offset:offset + length] + more, flags)

    def error_chunk(self, cookie, offset=None):
        text = b"no good"
        payload = struct.pack(">IH", EIO, len(text)) + text
        if offset is None:
            self.chunk(ERROR, cookie, payload, DONE)
        else:
            self.chunk(ERROR_OFFSET, cookie,
                       payload + struct.pack(">Q", offset), DONE)

    def read(self, cookie, offset, length):
        fault, half = self.fault, length // 2
        self.bytes_read += length
        if fault == "half":
            self.data_chunk(cookie, offset, half)
            self.chunk(NONE, cookie, flags=DONE)
        elif fault == "none":
            self.chunk(NONE, cookie, flags=DONE)
        elif fault == "hole":
            self.chunk(HOLE, cookie, struct.pack(">QI", offset, 0), DONE)
        elif fault == "empty":
            self.data_chunk(cookie, offset, 0, flags=DONE)
        elif fault == "long":
            self.data_chunk(cookie, offset, length, flags=DONE, more=b"\0")
        elif fault == "elsewhere":
            self.data_chunk(cookie, offset, length, offset + length, DONE)
        elif fault == "error":
            self.error_chunk(cookie)
        elif fault == "late-error":
            self.data_chunk(cookie, offset, half)
            self.error_chunk(cookie, offset + half)
        elif fault == "simple-error":
            self.send("IIQ", 0x67446698, EIO, cookie)
        elif fault == "cookie":
            self.data_chunk(cookie + 1000000, offset, length, flags=DONE)
        elif fault == "reverse":
            self.data_chunk(cookie, offset + half, length - half)
            self.data_chunk(cookie, offset, half, flags=DONE)
        elif fault == "die" and self.bytes_read > int(self.argument):
            self.send("IHHQI", 0x668e33ef, DONE, DATA, cookie, length + 8,
                      b"half of an offset"[:4])
            raise Gone
        else:
            self.data_chunk(cookie, offset, length, flags=DONE)
        if offset + length == len(self.data):
            self.read_all.set()

    def block_status(self, cookie, offset, length):
        fault, flags = self.fault, 0
        if fault == "extents-no-chunk":
            return self.chunk(NONE, cookie, flags=DONE)
        if fault == "extents-error":
            return self.error_chunk(cookie)
        if fault in ("extents-short", "extents-late-error"):
            length = min(length, int(self.argument))
            if not any(self.data[offset:offset + length]):
                flags = STATE_HOLE | STATE_ZERO
        if fault == "extents-late-error" and offset > len(self.data) // 2:
            return self.error_chunk(cookie)
        if fault == "bitmap-error" and offset + length > len(self.data) // 2:
            return self.error_chunk(cookie)
        if fault == "extents-zero":
            length = 0
        if fault == "extents-long":
            length = 2 ** 32 - 1
        context = CONTEXT + (fault == "extents-context")
        extents = b"" if fault == "extents-none" else \
            struct.pack(">II", length, flags)
        if fault == "hold-ahead" and offset + length < len(self.data):
            data = max(int(self.argument) - offset, 0)
            extents = struct.pack(">II", data, 0) if data else b""
            extents += struct.pack(">II", length - data,
                                   STATE_HOLE | STATE_ZERO)
        if self.has_bitmap:
            self.bitmap_status(cookie, offset, length)
        self.chunk(BLOCK_STATUS, cookie, struct.pack(">I", context) + extents,
                   DONE)

    def bitmap_extents(self, offset, length):
        """(length, flags) of each extent."""
        first, dirty = (int(n) for n in self.argument.split("+"))
        end = offset + length
        while offset < end:
            is_dirty = first <= offset < first + dirty
            until = min(end, *(n for n in (first, first + dirty, end)
                               if n > offset))
            yield until - offset, int(is_dirty)
            offset = until

    def bitmap_status(self, cookie, offset, length):
        fault, extents = self.fault, list(self.bitmap_extents(offset, length))
        if fault == "bitmap-no-chunk":
            return
        if fault == "bitmap-short":
            extents = [(min(extents[0][0], 4096), extents[0][1])]
        elif fault == "bitmap-beyond":
            extents[-1] = 2 ** 32 - 1, 1
        elif fault == "bitmap-zero":
            extents[-1] = 0, 0
        elif fault == "bitmap-none":
            extents = []
        chunks = [extents]
        if fault == "bitmap-twice":
            chunks.insert(0, [(length, 0)])
        for extents in chunks:
            self.chunk(BLOCK_STATUS, cookie,
                       struct.pack(">I", BITMAP_CONTEXT) +
                       b"".join(struct.pack(">II", *e) for e in extents))

    # ---- Requests ----

    def is_idle(self):
        """True if the client sends nothing more before it gets a reply."""
        return not select.select([self.sock], [], [], 0.05)[0]

    def holds_extents(self, offset, length):
        """hold-ahead: the first request for the end of the file."""
        if self.fault != "hold-ahead" or self.held_one.is_set() or \
           offset + length < len(self.data):
            return False
        self.is_held = True
        self.held_one.set()
        return True

    def may_answer(self):
        if self.is_held:
            self.read_all.wait()
        if self.fault == "first":
            return self.answered == 0
        if self.fault == "late" and self.answered == 0:
            return True
        return self.fault not in ("late", "reverse") or self.is_idle()

    def answer(self):
        while self.reads:
            self.read(*self.reads.pop())
            self.answered += 1

    def serve(self):
        while True:
            _, _, command, cookie, offset, length = struct.unpack(
                ">IHHQQI", self.recv(28))
            if command == CMD_DISC:
                if self.fault == "no-close":
                    threading.Event().wait()
                raise Gone
            if command == CMD_BLOCK_STATUS:
                self.hold("hold-extents")
                if self.holds_extents(offset, length):
                    continue
                self.block_status(cookie, offset, length)
            elif command == CMD_READ:
                self.hold("hold-read")
                self.reads.append((cookie, offset, length))
                if self.fault == "hold-64":
                    if len(self.reads) == 64:
                        open(self.argument, "w").close()
                    continue
            if self.may_answer():
                self.answer()

    def write_counts(self):
        with open(self.argument + ".new", "w") as f:
            print(len(self.reads), int(time.monotonic() - self.start), file=f)
        os.rename(self.argument + ".new", self.argument)

    def run(self):
        try:
            if self.number > 1:
                if self.fault == "second-hangs":
                    threading.Event().wait()
                if self.fault == "second-gone":
                    raise Gone
            self.negotiate()
            self.serve()
        except (Gone, OSError):
            pass
        if self.fault in ("first", "late"):
            self.write_counts()
        self.sock.close()


def main():
    path, image, fault, argument = (sys.argv[1:] + ["", ""])[:4]
    faults = [line.split()[0] for line in __doc__.splitlines()
              if line.startswith("  ") and line[2] != " "]
    if fault and fault not in faults:
        sys.exit("evil-server.py: no such fault: " + fault)
    with open(image, "rb") as f:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(16)
    os.rename(path + ".new", path)      # now clients can connect
    number = 0
    while True:
        sock, _ = listener.accept()
        number += 1
        connection = Connection(sock, number, data, fault, argument)
        threading.Thread(target=connection.run, daemon=True).start()


main()

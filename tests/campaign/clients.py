# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random clients of the campaign.  Each is a process, so that it can be killed.
"""

import os
import random
import select
import signal
import socket
import time

import nbd


def connect(path, name, psk=None):
    h = nbd.NBD()
    if psk:
        h.set_tls(nbd.TLS_REQUIRE)
        h.set_tls_username("alice")
        h.set_tls_psk_file(psk)
    # The size of a disk need not be a multiple of the block size.
    h.set_strict_mode(h.get_strict_mode() & ~nbd.STRICT_ALIGN)
    h.add_meta_context("base:allocation")
    h.set_export_name(name)
    h.connect_unix(path)
    return h


def minimum(h):
    return h.get_block_size(nbd.SIZE_MINIMUM) or 1


def read_all(h):
    size, unit = h.get_size(), minimum(h)
    most = min(1 << 20, h.get_block_size(nbd.SIZE_MAXIMUM) or 1 << 20)
    # The last block may be too short for a request of its own.
    end = size // unit * unit
    data = b"".join(bytes(h.pread(min(most, end - i), i))
                    for i in range(0, end, most))
    return data if end == size else data + bytes(h.pread(size - end, end))


class Client:
    """What a client does is written to its log, for debugging.

    A client that breaks off or is killed has at most one request in flight in
    most cases: with more, nbdkit can abort."""

    def __init__(self, run, seed, may_write, manner, log):
        self.run, self.rng, self.may_write = run, random.Random(seed), may_write
        self.manner, self.depth = manner, 8
        if manner != "leave" and self.rng.random() < 0.95:
            self.depth = 1
        self.log_file = open(log, "w", buffering=1)

    def log(self, *what):
        print("%.6f" % time.monotonic(), *what, file=self.log_file)

    # ---- Places and data ----

    def place(self, h):
        """A range: near a hot offset or anywhere, aligned or not."""
        rng, size, smallest = self.rng, h.get_size(), minimum(h)
        size = size // smallest * smallest
        if not size:
            return None
        unit = max(smallest, rng.choice((1, 512, 4096, self.run.block_size)))
        start = rng.choice([int(x * size) for x in self.run.hot] +
                           [rng.randrange(size)]) // unit * unit
        most = min(size - start, rng.choice((1, 4, 20)) * self.run.block_size,
                   1 << 20)
        length = rng.randrange(most) + 1
        if length > unit and rng.random() < 0.7:
            length = length // unit * unit
        length = max(length // smallest, 1) * smallest
        return start, min(length, size - start)

    def data(self, length):
        kind = self.rng.randrange(4)
        if kind == 0:
            return bytes(length)
        if kind == 1:
            return bytes([self.rng.randrange(256)]) * length
        return self.rng.randbytes(length)

    # ---- Requests ----

    def begin(self, h):
        """Begin a random request.  Returns (cookie, buffer, whether it changes
        data)."""
        rng, place = self.rng, self.place(h)
        may_write = self.may_write and not h.is_read_only()
        kind = rng.randrange(11) if may_write else rng.randrange(6, 11)
        if kind == 0 and h.can_flush():
            self.log("flush")
            return h.aio_flush(), None, False
        if not place:
            return None
        start, length = place
        fua = 0
        if h.can_fua() and rng.random() < 0.2 and \
           "fua-kills" not in self.run.stack.traits:
            fua = nbd.CMD_FLAG_FUA
        if kind < 4:
            self.log("pwrite", start, length, fua)
            buf = nbd.Buffer.from_bytearray(bytearray(self.data(length)))
            return h.aio_pwrite(buf, start, flags=fua), buf, True
        if kind == 4 and h.can_zero():
            flags = fua | rng.choice((0, nbd.CMD_FLAG_NO_HOLE))
            if h.can_fast_zero() and rng.random() < 0.4:
                flags |= nbd.CMD_FLAG_FAST_ZERO
            self.log("zero", start, length, flags)
            return h.aio_zero(length, start, flags=flags), None, True
        if kind == 5 and h.can_trim():
            self.log("trim", start, length, fua)
            return h.aio_trim(length, start, flags=fua), None, True
        if kind == 10 and h.can_meta_context("base:allocation"):
            self.log("extents", start, length)
            return h.aio_block_status(
                length, start, lambda *_: 0,
                flags=rng.choice((0, nbd.CMD_FLAG_REQ_ONE))), None, False
        self.log("pread", start, length)
        buf = nbd.Buffer(length)
        return h.aio_pread(buf, start), buf, False

    def end(self, h, request):
        """Wait for the request.  An error must be one of the server: most
        stacks have none, and all may refuse a fast zero."""
        cookie, _, _ = request
        try:
            while not h.aio_command_completed(cookie):
                h.poll(-1)
            self.log("done", cookie)
            return True
        except nbd.Error as e:
            self.log("failed", cookie, e)
            if e.errno not in ("ENOTSUP", "EOPNOTSUPP") and \
               not self.run.may_fail:
                raise
            return False

    def requests(self, h, name):
        """Some requests, several of them in flight at once."""
        rng, changed = self.rng, False
        for _ in range(rng.randrange(1, 4 if self.run.stack.slow else 10)):
            requests = [self.begin(h)
                        for _ in range(min(rng.choice((1, 1, 1, 1, 4, 8)),
                                           self.depth))]
            for request in filter(None, requests):
                changed |= self.end(h, request) and request[2]
            if changed:
                self.run.check_withdrawn(name)

    def leave(self, h):
        if self.manner != "break off":
            self.log("leave")
            h.shutdown()
            return
        self.log("break off")
        for _ in range(min(self.depth, self.rng.randrange(4))):
            self.begin(h)

    def scan_port(self):
        """A client that breaks off before its first request."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.run.socket)
            if self.rng.randrange(2):
                try:
                    s.sendall(self.rng.choice((
                        b"\0\0\0\3",
                        b"\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0", b"GET /")))
                except BrokenPipeError:
                    return              # refused by the limit filter
                select.select([s], [], [], 0.05)

    def sessions(self, ready, go):
        rng = self.rng
        number = 1 if self.run.stack.late or self.run.ending else \
            rng.randrange(1, 3)
        for _ in range(number):
            name = rng.choice(self.run.stack.names)
            self.log("connect", name)
            try:
                h = connect(self.run.socket, name,
                            rng.choice((None, self.run.stack.tls)))
            except nbd.Error:
                if not self.run.may_fail:
                    raise
                h = None
            self.log("connected")
            if ready is not None:
                os.write(ready, b"x")
                os.read(go, 1)          # until the end of file
                ready = None
            if h:
                self.requests(h, name)
                self.leave(h)
                del h

    def main(self, ready, go):
        if ready is None and self.manner != "leave" and \
           self.rng.random() < 0.05:
            self.scan_port()
        self.sessions(ready, go)


def start_client(run, seed, may_write, manner, log, ready, go, close):
    """Returns the process id.  The client exits with a status other than 0 if
    it fails, and the reason is in its log.  When it is connected it writes to
    READY and waits until GO is closed, unless they are None.  It closes
    CLOSE."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for fd in close:
            os.close(fd)
        client = Client(run, seed, may_write, manner, log)
        try:
            client.main(ready, go)
            status = 0
        except BaseException as e:
            client.log("FAILED", repr(e))
    finally:
        os._exit(status)

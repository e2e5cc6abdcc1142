#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random clients of the filter, several at once, against the reference.

Each case is a server with the filter and a random plugin below it, and some
rounds of clients: they connect, write, zero, trim, read, ask for extents and
disconnect, on four connections at once, over the same few places of a small
disk.  What they leave behind is nowhere predicted: the result file must have
the sum of what is on the disk then, by blksum and by reference.py, and the
manifest must be that of refmanifest.py.

    filter-random.py --filter FILE.so --blksum PROGRAM

BLKHASH_SEED is the seed of the first case, BLKHASH_ROUNDS how many cases
there are.  A case that fails prints its seed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import nbd
import reference
import refmanifest

CONNECTIONS = 4
LIMIT = 300                     # seconds, which no passing test uses up
KINDS = ("memory", "file", "nbd", "eval")

# A disk in a file, through a plugin that runs a program for each request.  It
# has no multi-conn, and its extents are right but poor.
EVAL = ["eval",
        "get_size=stat -c %s $IMAGE",
        "pread=dd if=$IMAGE skip=$4 count=$3 iflag=skip_bytes,count_bytes "
        "status=none",
        "pwrite=dd of=$IMAGE seek=$4 oflag=seek_bytes conv=notrunc "
        "status=none",
        "can_write=exit 0", "can_trim=exit 0", "can_zero=exit 0",
        "can_extents=exit 0",
        # What is trimmed is not zero here.
        "trim=printf gone | dd of=$IMAGE seek=$4 oflag=seek_bytes "
        "count=$(($3 < 4 ? $3 : 4)) iflag=count_bytes conv=notrunc "
        "status=none",
        "zero=dd if=/dev/zero of=$IMAGE seek=$4 count=$3 iflag=count_bytes "
        "oflag=seek_bytes conv=notrunc status=none",
        "extents=echo $4 $3"]


class Failed(Exception):
    pass


class Case:
    def __init__(self, args, seed, directory):
        self.args, self.seed, self.dir = args, seed, directory
        self.rng = rng = random.Random(seed)
        # With a sanitizer before them the programs that eval runs can fail.
        shells = "LD_PRELOAD" not in args.wrapper
        self.kind = rng.choices(KINDS, (4, 4, 2, shells))[0]
        self.size = rng.choice((rng.randrange(1, 1 << 20), 1 << 20,
                                rng.randrange(1 << 20, 3 << 20)))
        self.block_size = 1 << rng.randrange(12, 17)
        self.streams = rng.choice((0, 0, 0, 7))
        self.linear = not self.streams and rng.random() < 0.2
        self.names = rng.choice(([""], [""], ["", "other"]))
        self.failing = rng.random() < 0.15
        self.image = os.path.join(directory, "image")
        self.sums = os.path.join(directory, "sums")
        self.manifest = os.path.join(directory, "manifest")
        self.trigger = os.path.join(directory, "trigger")
        self.socket = os.path.join(directory, "nbd.sock")
        self.servers = []
        self.errors = []
        # A few places that all clients like.
        self.hot = [rng.randrange(self.size) for _ in range(3)]

    # ---- Servers ----

    def start(self, socket, *command):
        command = ["nbdkit", "-f", "-U", socket, "-P", socket + ".pid",
                   *command]
        log = open(socket + ".log", "w")
        env = dict(os.environ, IMAGE=self.image)
        self.servers.append(subprocess.Popen(
            self.args.wrapper.split() + command, stderr=log, env=env))
        log.close()
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(socket + ".pid"):
            if time.monotonic() > deadline or self.servers[-1].poll():
                raise Failed("no server: %s\n%s" % (
                    " ".join(command), open(socket + ".log").read()))
            time.sleep(0.002)

    def make_image(self):
        with open(self.image, "wb") as f:
            for i in range(self.rng.randrange(4)):
                f.seek(self.rng.randrange(self.size))
                f.write(self.rng.randbytes(
                    self.rng.randrange(self.size - f.tell()) // 2 + 1))
            f.truncate(self.size)

    def serve(self):
        rng = self.rng
        self.make_image()
        if self.kind == "memory":
            plugin = ["memory", str(self.size)]
        elif self.kind == "file":
            plugin = ["file", self.image]
        elif self.kind == "eval":
            plugin = EVAL + ["thread_model=echo " + rng.choice((
                "serialize_all_requests", "serialize_requests", "parallel"))]
        else:
            below = os.path.join(self.dir, "below.sock")
            self.start(below, "file", self.image)
            plugin = ["nbd", "socket=" + below, "shared=true"]
        filters, parameters = ["--filter=" + self.args.filter], []
        if self.failing:
            filters.append("--filter=error")
            parameters += ["error-rate=10%", "error-file=" + self.trigger]
        if rng.random() < 0.3 and self.args.delay:
            # No delay of reads: it fails when the client has gone.
            filters.append("--filter=delay")
            parameters.append("wdelay=%dms" % rng.randrange(3))
        if rng.random() < 0.1:
            filters.append("--filter=noextents")
        parameters += ["blkhash-file=" + self.sums,
                       "blkhash-manifest=" + self.manifest,
                       "blkhash-block-size=%d" % self.block_size,
                       "blkhash-streams=%d" % self.streams,
                       "blkhash-linear=%d" % self.linear]
        self.start(self.socket, *filters, *plugin, *parameters)

    def stop(self):
        for server in reversed(self.servers):
            server.terminate()
        status = [self.wait(server) for server in self.servers]
        if any(status):
            raise Failed("exit status of servers: %s\n%s" % (
                status, open(self.socket + ".log").read()))

    def wait(self, server):
        # With a sanitizer before it, nbdkit can hang in a destructor of
        # p11-kit, after everything of ours is over: see filter-functions.sh.
        if "LD_PRELOAD" not in self.args.wrapper:
            return server.wait(LIMIT)
        try:
            return server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            return 0

    # ---- Clients ----

    def connect(self, name):
        h = nbd.NBD()
        h.add_meta_context("base:allocation")
        h.set_export_name(name)
        h.connect_unix(self.socket)
        return h

    def place(self, rng):
        """A range: near a hot place or anywhere, aligned or not."""
        start = rng.choice(self.hot + [rng.randrange(self.size)])
        unit = rng.choice((1, 512, 4096, self.block_size))
        start = start // unit * unit
        most = min(self.size - start, rng.choice((1, 4, 20)) * self.block_size)
        length = rng.randrange(most) + 1
        if length > unit and rng.random() < 0.7:
            length = length // unit * unit
        return start, min(length, self.size - start)

    def data(self, rng, length):
        kind = rng.randrange(4)
        if kind == 0:
            return bytes(length)
        if kind == 1:
            return bytes([rng.randrange(256)]) * length
        return rng.randbytes(length)

    def one_request(self, h, rng, may_write):
        start, length = self.place(rng)
        kind = rng.randrange(10) if may_write else rng.randrange(5, 10)
        if kind < 3:
            h.pwrite(self.data(rng, length), start)
        elif kind == 3:
            h.zero(length, start, rng.choice((0, nbd.CMD_FLAG_NO_HOLE)))
        elif kind == 4:
            h.trim(length, start)
        elif kind < 8:
            h.pread(length, start)
        elif h.can_meta_context("base:allocation"):
            h.block_status(length, start, lambda *_: 0,
                           rng.choice((0, nbd.CMD_FLAG_REQ_ONE)))

    def many_requests(self, h, rng):
        """Several writes and reads in flight on one connection."""
        pending = []
        for i in range(8):
            start, length = self.place(rng)
            if rng.randrange(3):
                buf = nbd.Buffer.from_bytearray(
                    bytearray(self.data(rng, length)))
                pending.append((h.aio_pwrite(buf, start), buf))
            else:
                buf = nbd.Buffer(length)
                pending.append((h.aio_pread(buf, start), buf))
        for cookie, buf in pending:
            while True:
                try:
                    if h.aio_command_completed(cookie):
                        break
                except nbd.Error:
                    break
                h.poll(-1)

    def client(self, seed, may_write):
        rng = random.Random(seed)
        try:
            for i in range(rng.randrange(1, 3)):
                h = self.connect(rng.choice(self.names))
                for j in range(rng.randrange(1, 4 if self.kind == "eval"
                                             else 12)):
                    try:
                        if may_write and rng.randrange(6) == 0:
                            self.many_requests(h, rng)
                        else:
                            self.one_request(h, rng, may_write)
                    except nbd.Error:
                        if not self.failing:
                            raise
                if rng.randrange(3):    # else the connection just breaks
                    h.shutdown()
                del h
        except Exception as e:          # told by the main thread
            self.errors.append(repr(e))

    def clients(self, may_write):
        threads = [threading.Thread(
            target=self.client, args=(self.rng.randrange(1 << 62), may_write))
            for i in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise Failed("client: " + "; ".join(self.errors))

    # ---- Results ----

    def content(self):
        if self.kind != "memory":
            with open(self.image, "rb") as f:
                return f.read()
        h = self.connect("")
        data = b"".join(bytes(h.pread(min(1 << 20, self.size - i), i))
                        for i in range(0, self.size, 1 << 20))
        h.shutdown()
        return data

    def lines(self):
        """What the result file says, by name of the export."""
        result = {}
        with open(self.sums) as f:
            for line in f:
                if not line.startswith("# incomplete "):
                    md, name = line.rstrip("\n").split("  ")
                    result["" if name == "-" else name] = md
        return result

    def expected(self):
        content = self.content()
        wanted = reference.blkhash(content, "sha256", self.block_size,
                                   self.streams, self.linear)
        copy = os.path.join(self.dir, "copy")
        with open(copy, "wb") as f:
            f.write(content)
        command = [self.args.blksum, "-b", str(self.block_size)]
        if self.streams:
            command += ["--streams", str(self.streams)]
        if self.linear:
            command.append("--linear")
        by_blksum = subprocess.check_output(command + [copy], text=True)
        if by_blksum.split()[0] != wanted:
            raise Failed("blksum and the reference differ")
        return wanted, refmanifest.write(content, "sha256", self.block_size,
                                         self.streams, self.linear)

    def compare(self, wanted, lines, has_manifest=False):
        wanted, manifest = wanted
        for name, md in lines.items():
            if md != wanted:
                raise Failed("sum of %r: expected %s\ngot %s" % (
                    name, wanted, md))
        with open(self.manifest, "rb") as f:
            got = f.read()
        if got != manifest and (got or has_manifest):
            raise Failed("not the manifest, but %d bytes" % len(got))

    def wait_for_sum(self, name):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            lines = self.lines()
            if name in lines:
                return lines
            if self.may_be_hidden(name):
                self.touch(name)
            time.sleep(0.005)
        raise Failed("no sum of %r: %s" % (name, open(self.sums).read()))

    def may_be_hidden(self, name):
        """Is it said that the last client may not see what others changed?  Clients
        that just break can still be there when the next one comes, which then
        cannot see what two of them trimmed.  One that comes later does.
        """
        with open(self.sums) as f:
            return "# incomplete %s: the last client may not see" % (
                name or "-") in f.read()

    def touch(self, name):
        h = self.connect(name)
        h.pwrite(b"x", self.rng.randrange(self.size))
        h.shutdown()

    def touch_all(self):
        """A well-behaved client of each name: it writes a byte."""
        for name in self.names:
            self.touch(name)
            self.wait_for_sum(name)

    def run(self):
        self.serve()
        for i in range(self.rng.randrange(1, 4)):
            if self.failing:
                open(self.trigger, "w").close()
            self.clients(self.rng.random() < 0.8)
            if self.failing:
                os.unlink(self.trigger)
            if self.rng.randrange(3) == 0:
                continue                # the next ones come in between
            self.touch_all()
            wanted = self.expected()
            # The name that wrote last has a sum, others may have none.
            lines = self.wait_for_sum(self.names[-1])
            self.compare(wanted, lines, True)
            if self.rng.randrange(2):
                self.clients(False)     # which changes nothing
                self.compare(wanted, self.lines())
        content_is_kept = self.kind != "memory"
        wanted = None if content_is_kept else self.expected()
        self.stop()
        self.compare(self.expected() if content_is_kept else wanted,
                     self.lines())

    def describe(self):
        return "seed %d: %s, %d bytes, blocks of %d, streams %d%s%s%s" % (
            self.seed, self.kind, self.size, self.block_size, self.streams,
            ", linear" if self.linear else "",
            ", two names" if len(self.names) > 1 else "",
            ", errors" if self.failing else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--blksum", required=True)
    parser.add_argument("--wrapper", default="")
    parser.add_argument("--delay", action="store_true")
    args = parser.parse_args()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 20)
    for i in range(seed, seed + rounds):
        directory = tempfile.mkdtemp()
        case = Case(args, i, directory)
        print(case.describe(), flush=True)
        try:
            case.run()
        except Failed as e:
            with open(case.socket + ".log") as f:
                print("FAIL: %s\n%s\n%s" % (case.describe(), e, f.read()))
            return 1
        finally:
            for server in case.servers:
                if server.poll() is None:
                    server.kill()
                    server.wait()
            shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())

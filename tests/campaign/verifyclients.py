# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The clients of the campaigns of the verify filter, which judge what they get."""

import os
import shutil
import subprocess

import nbd
from server import LIMIT, Failed
from verifyfiles import PASS


class Clients:
    """The clients of one disk, one at a time."""

    def __init__(self, disk, server, directory):
        self.disk, self.server, self.rng = disk, server, disk.rng
        self.copied = os.path.join(directory, disk.name + ".copy")

    def check_server(self):
        if self.server.has_ended():
            self.server.ended_badly("while it served")

    def judge(self, what, failed, expected):
        self.check_server()
        self.disk.judge(what, failed, expected,
                        lambda: self.server.log(10**9))

    def read(self, h, what, n, offset):
        disk, what = self.disk, "%s %d bytes at %d" % (what, n, offset)
        refusable = disk.may_be_refused()
        try:
            data = h.pread(n, offset)
        except nbd.Error as e:
            if e.errno != "EIO":
                self.check_server()
                raise Failed("%s: %s" % (what, e))
            data = None
        else:
            disk.compare(what, data, offset)
        disk.blocks.request(offset, n, data is None, not refusable)
        self.judge(what, data is None, disk.expected(offset, n))

    def connect(self):
        """None if the manifest was changed before it was opened again."""
        h = nbd.NBD()
        h.add_meta_context("base:allocation")
        h.set_export_name(self.disk.name)
        try:
            h.connect_unix(self.server.socket)
        except nbd.Error as e:
            self.check_server()
            if not (self.disk.params.several and self.disk.attacked):
                raise Failed("cannot connect: %s" % e)
            self.judge("connect", True, PASS)
            return None
        self.disk.connected = True
        return h

    def small_reads(self):
        h, size = self.connect(), len(self.disk.truth)
        for _ in range(self.rng.choice((10, 40)) if h else 0):
            n = min(512, size)
            offset = self.rng.randrange(size - n + 1)
            if self.rng.random() < 0.7:
                offset = offset // 512 * 512
            self.read(h, "small", n, offset)
        if h:
            h.shutdown()

    def large_reads(self):
        h, size = self.connect(), len(self.disk.truth)
        if not h:
            return
        for _ in range(2):
            n = min(64 << 20, size)
            self.read(h, "large", n, self.rng.choice((0, size - n)))
        n = self.rng.randrange(1, n + 1)
        self.read(h, "large", n, self.rng.randrange(size - n + 1))
        self.extents(h)
        h.shutdown()

    def extents(self, h):
        found = []
        try:
            h.block_status(len(self.disk.truth), 0, lambda context, offset,
                           entries, err: found.extend(entries))
        except nbd.Error:
            self.check_server()
            if not self.disk.may_be_refused():
                raise Failed("EXTENTS REFUSED")
            return
        self.disk.compare_extents(found)

    def copy(self, what, *command):
        """A copier with one request at a time can break off without that nbdkit
        aborts.  What it has copied before is right."""
        disk = self.disk
        if os.path.exists(self.copied):
            os.unlink(self.copied)
        expected = max(disk.outcomes)
        refusable = disk.may_be_refused()
        try:
            done = subprocess.run([*command, self.copied], timeout=LIMIT,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired:
            self.server.hang(what)
        if done.returncode not in (0, 1):
            raise Failed("%s: status %d: %s" % (what, done.returncode,
                                                done.stderr))
        try:
            with open(self.copied, "rb") as f:
                data = f.read()
        except FileNotFoundError:
            data = b""
        failed = done.returncode != 0
        if failed:
            disk.compare_part(what, data)
        else:
            disk.compare_copy(what, data)
            disk.connected = True
        disk.blocks.request(0, len(disk.truth), failed, not refusable)
        self.judge(what, failed, expected)

    def in_flight(self):
        """May a copier have many requests in flight, so that it must not break
        off?"""
        disk = self.disk
        return max(disk.outcomes) == PASS and not disk.attacks and \
            not disk.stopped

    def uri(self):
        name = "".join("%%%02x" % byte for byte in self.disk.name.encode())
        return "nbd+unix:///%s?socket=%s" % (name, self.server.socket)

    def nbdcopy(self):
        options = [] if self.in_flight() else ["--requests=1", "-C", "1"]
        if self.rng.random() < 0.3:
            options.append("--no-extents")
        self.copy("nbdcopy", "nbdcopy", *options, self.uri())

    def qemu_img(self):
        options = ["-m", "8", "-W"] if self.in_flight() else ["-m", "1"]
        self.copy("qemu-img", "qemu-img", "convert", "-f", "raw", "-O", "raw",
                  *options, self.uri())

    def run(self):
        clients = [self.small_reads, self.large_reads, self.nbdcopy]
        if shutil.which("qemu-img"):
            clients.append(self.qemu_img)
        self.rng.shuffle(clients)
        del clients[self.rng.choice((1, 4, 4, 4)):]
        when = self.rng.randrange(len(clients)) if self.disk.attacks else None
        for i, client in enumerate(clients):
            end = self.disk.begin_attack() if i == when else lambda: None
            try:
                client()
            finally:
                end()

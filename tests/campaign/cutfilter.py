# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of our filters for test-power-cuts.py: a server whose disk, result
file and manifest, or status and mapfile, are on storage that forgets."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

import nbd
import reference
import refmanifest
import verifyfiles
from cutjobs import ERROR, RIGHT, content, need
from forgetful import LIMIT, Failed

BLOCK = 65536
SIZE = 9 * BLOCK + 1000
SUM = re.compile(rb"^blk-.* = ([0-9a-f]{64})$", re.M)


def hashed(disk):
    return [disk[i:i + BLOCK] for i in range(0, len(disk), BLOCK)]


def sum_of(disk):
    return reference.blkhash(hashed(disk))


def manifest_of(disk):
    return refmanifest.write(hashed(disk))


# ---- Clients ----

def write(h):
    """Whole blocks, and blocks that must be read when the client has left."""
    h.pwrite(b"w" * 2 * BLOCK, BLOCK)
    h.pwrite(b"p" * 100, 7 * BLOCK + 5)
    h.flush()


def write_unflushed(h):
    h.pread(SIZE, 0)
    h.pwrite(b"u" * 3000, 3 * BLOCK - 1000)
    h.zero(BLOCK, 5 * BLOCK)


def trim(h):
    h.trim(BLOCK, 4 * BLOCK)
    h.pwrite(b"t" * BLOCK, 6 * BLOCK)
    h.flush()
    h.pread(SIZE, 0)


def write_a_byte(h):
    h.pwrite(b"n", 100)
    h.pread(SIZE, 0)


def read(h):
    h.pread(SIZE, 0)


CLIENTS = ("", write), ("", write_unflushed), ("", trim)


class Server:
    def __init__(self, job, directory):
        self.directory, self.threads = directory, job.threads
        self.where = os.path.dirname(directory)
        self.socket = os.path.join(self.where, "socket")
        self.pid_file = os.path.join(self.where, "pid")
        for path in self.socket, self.pid_file:
            if os.path.exists(path):
                os.unlink(path)
        self.log = open(os.path.join(self.where, "nbdkit.log"), "w+")
        self.process = subprocess.Popen(
            ["nbdkit", "-f", "--exit-with-parent", "-t", "1",
             "-U", self.socket, "-P", self.pid_file,
             "--filter=" + job.filter, "file", os.path.join(directory, "disk"),
             *(p.replace("%s", directory) for p in job.parameters)],
            stdin=subprocess.DEVNULL, stderr=self.log)

    def wait_until(self, condition, mount):
        """Returns false if the server has ended, or the power was cut."""
        end = time.monotonic() + LIMIT
        while not condition():
            if self.process.poll() is not None or mount and mount.is_cut():
                return False
            if time.monotonic() > end:
                raise Failed("HANG of nbdkit")
            time.sleep(0.001)
        return True

    def is_idle(self):
        """All connections are closed."""
        tasks = os.listdir("/proc/%d/task" % self.process.pid)
        return len(tasks) <= self.threads

    def use(self, name, client, mount):
        h = nbd.NBD()
        try:
            h.set_export_name(name)
            h.connect_unix(self.socket)
            client(h)
            h.shutdown()
        except nbd.Error:
            pass
        del h
        return self.wait_until(self.is_idle, mount)

    def run(self, clients, mount=None):
        try:
            if self.wait_until(lambda: content(self.pid_file), mount):
                for name, client in clients:
                    if not self.use(name, client, mount):
                        break
            if mount and mount.is_cut():
                self.process.kill()
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed("HANG of nbdkit at the end") from None
        finally:
            self.process.kill()
            self.process.wait()
            self.log.seek(0)
            self.messages = self.log.read()
            self.log.close()


class Filter:
    """A server with PARAMETERS, in which %s is its directory, and CLIENTS."""

    no_reads_of = "disk"        # nobody can know that it was read wrong
    threads = 1                 # of a server without clients

    def __init__(self, name, filter, disk, parameters, clients=CLIENTS,
                 flushes=False):
        """FLUSHES: there is no sum after a flush that failed."""
        self.name, self.filter, self.disk = name, filter, disk
        self.parameters, self.clients = parameters, clients
        self.flushes = flushes

    def prepare(self, store):
        shutil.rmtree(store, ignore_errors=True)
        os.mkdir(store)
        for name, data in (("disk", self.disk),
                           ("sums", b"blk-sha256/64k (-) = %s\n" %
                            sum_of(self.disk).encode()),
                           ("manifest", manifest_of(self.disk))):
            if "=%s/" + name in " ".join(self.parameters) or name == "disk":
                with open(os.path.join(store, name), "wb") as f:
                    f.write(data)

    def run(self, directory, mount=None):
        return self.serve(directory, mount, self.clients)

    def serve(self, directory, mount, clients):
        server = Server(self, directory)
        server.status = server.run(clients, mount)
        server.disk = None
        with contextlib.suppress(OSError):      # the power was cut, or it fails
            server.disk = content(os.path.join(directory, "disk"))
        return server

    def judge(self, store, server, was_cut, events):
        need(was_cut or server.status == 0 or server.status == 1 and
             "nbdkit: error: " in server.messages, "status", server.status)
        # If a sum can neither be replaced nor removed, the log says so.
        if not was_cut and "it may be wrong now" in server.messages:
            return ERROR
        has_sum = self.judge_files(store, self.other_disks(server, events))
        return RIGHT if has_sum and server.status == 0 else ERROR

    def other_disks(self, server, events):
        """If a flush failed, the storage has lost what clients wrote, and a sum
        of it shows that."""
        lost = any(e.what == "lost" and e.name == "disk" for e in events)
        return [server.disk] if lost and server.disk and not self.flushes \
            else []

    @staticmethod
    def judge_files(store, others=()):
        """Every sum is that of the disk, or one of OTHERS.  Returns true if
        there is one."""
        disks = [content(os.path.join(store, "disk")), *others]
        wanted = {sum_of(disk).encode() for disk in disks}
        sums = SUM.findall(content(os.path.join(store, "sums")) or b"")
        need(set(sums) <= wanted, "a sum that is not that of the disk")
        manifest = content(os.path.join(store, "manifest"))
        need(not manifest or manifest in map(manifest_of, disks),
             "a manifest that is not that of the disk:",
             manifest and len(manifest))
        return bool(sums or manifest)

    def judge_next(self, store):
        server = Server(self, store)
        status = server.run([(self.clients[0][0], write_a_byte)])
        need(status == 0, "next run: status", status,
             *re.findall("nbdkit: error: .*", server.messages))
        need(self.judge_files(store), "next run: no sum")
        return RIGHT


class Verify(Filter):
    """A server of the verify filter with a disk of which a block differs.  The
    files that an earlier server left say that all are right."""

    threads = 2
    FILES = ("file", "result"), ("status", "status"), ("mapfile", "map")

    def __init__(self, filter, disk):
        good = disk[:BLOCK] + b"g" + disk[BLOCK + 1:]
        self.manifest = manifest_of(good)
        self.line = "blk-sha256/64k (-) = " + sum_of(good)
        self.old = {
            "result": "# nbdkit-blkhash-verify-filter replaces this file\n" +
                      self.line + "\n",
            "status": '{\n  "program": "nbdkit-blkhash-verify-filter",\n}\n',
            "map": verifyfiles.SIGNATURE + "0x00000000 ? 1\n0x0 0x1 +\n"}
        super().__init__("filter, verify", filter, disk, [
            "blkhash-verify-manifest=%s/manifest",
            "blkhash-verify-sum=" + self.line,
            *("blkhash-verify-%s=%%s/%s" % file for file in self.FILES)])

    def prepare(self, store):
        super().prepare(store)
        for name, data in (("manifest", self.manifest), *(
                (name, text.encode()) for name, text in self.old.items())):
            with open(os.path.join(store, name), "wb") as f:
                f.write(data)

    def run(self, directory, mount=None):
        """When a client can read, the server has withdrawn the old files."""
        started = []

        def read_blocks(h):
            started.append(True)
            for offset in range(0, SIZE, BLOCK):
                with contextlib.suppress(nbd.Error):
                    h.pread(min(BLOCK, SIZE - offset), offset)

        server = self.serve(directory, mount, [("", read_blocks)])
        server.started = bool(started)
        return server

    def judge(self, store, server, was_cut, events):
        need(was_cut or server.status == 0 or server.status == 1 and
             "nbdkit: error: " in server.messages, "status", server.status)
        if not was_cut and "it may be wrong now" in server.messages:
            return ERROR
        found = {name: (content(os.path.join(store, name)) or b"").decode()
                 for name in self.old}
        stale = [name for name in found if found[name] == self.old[name]]
        need(not stale or not server.started, "stale:", *stale)
        try:
            return self.judge_found(store, found, stale, was_cut)
        except (verifyfiles.Wrong, ValueError, KeyError) as e:
            raise Failed("wrong files: %r" % e) from None

    def judge_found(self, store, found, stale, was_cut):
        """Each file is whole, or empty, and does not say that all blocks are
        right.  After a cut, they can be of different moments."""
        blocks, is_final = verifyfiles.Blocks(SIZE, BLOCK), True
        path = {name: os.path.join(store, name) for name in found}
        if found["result"] and "result" not in stale:
            lines = verifyfiles.read_result(path["result"])
            need(len(lines) == 1 and re.match("# (differs|unknown) -: ",
                                              lines[0]), "result:", *lines)
            is_final = lines == ["# differs -: %d bytes" % BLOCK]
        if found["status"] and "status" not in stale:
            finished = '"finished": true' in found["status"]
            exports = verifyfiles.read_status(path["status"], finished)
            for export in exports.values():
                verifyfiles.check_status(export, blocks)
            is_final = is_final and finished
        if found["map"] and "map" not in stale:
            states = verifyfiles.read_mapfile(path["map"], blocks)
            need(states != "+" * blocks.count, "map:", found["map"])
            need(was_cut or not is_final or states.count("-") == 1,
                 "map:", found["map"])
        return RIGHT if is_final and all(found.values()) and not stale \
            else ERROR

    def judge_next(self, store):
        server = self.run(store)
        need(server.status == 0, "next run: status", server.status,
             *re.findall("nbdkit: error: .*", server.messages))
        need(self.judge(store, server, False, []) == RIGHT,
             "next run: no result")
        return RIGHT


def jobs(filter, rng):
    disk = bytearray(rng.randbytes(SIZE))
    disk[4 * BLOCK:7 * BLOCK] = bytes(3 * BLOCK)
    disk = bytes(disk)
    file, manifest = "blkhash-file=%s/sums", "blkhash-manifest=%s/manifest"
    yield Filter("filter, file", filter, disk, [file])
    yield Filter("filter, file and manifest", filter, disk, [file, manifest])
    yield Filter("filter, update", filter, disk,
                 [file, manifest, "blkhash-update=true"], flushes=True)
    yield Filter("filter, update, read", filter, disk,
                 [file, manifest, "blkhash-update=true"], [("", read)], True)
    names = [letter * 1000 for letter in "abc"]
    yield Filter("filter, names", filter, disk, [file], [
        (names[0], write), (names[1], write_unflushed), (names[2], trim)])
    yield Verify(filter.replace("blkhash-filter", "blkhash-verify-filter"),
                 disk)

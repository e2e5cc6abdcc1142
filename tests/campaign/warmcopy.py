# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The destination of a warm migration, for test-migration.py: a client
copies each pass to nbdkit with the filter, which continues its manifest."""

import os
import re
import signal
import time

import nbd
from server import Failed, Server
from warmdisk import UNIT, Audit, blocks_of, manifest
from warmsource import content, remove


def ranges_of(requests):
    return [(offset, len(data)) for offset, data in requests]


def written(disk, requests):
    """DISK with REQUESTS, which are (offset, data)."""
    disk = bytearray(disk)
    for offset, data in requests:
        disk[offset:offset + len(data)] = data
    return bytes(disk)


def copy(socket, requests, kill, server):
    """KILL is of this process, or of SERVER, a process id."""
    h = nbd.NBD()
    h.connect_unix(socket)
    victim = server if kill and kill.party == "server" else os.getpid()
    at = round(kill.at * len(requests)) if kill else -1
    for i, (offset, data) in enumerate(requests):
        if i == at:
            h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data)), offset)
            os.kill(victim, signal.SIGKILL)
        if any(data) or not h.can_zero():   # with the cow filter
            h.pwrite(data, offset)
        else:
            h.zero(len(data), offset)
    h.flush()
    h.shutdown()
    if at == len(requests):
        time.sleep(kill.delay)
        os.kill(victim, signal.SIGKILL)


class Destination:
    def __init__(self, args, directory, params):
        self.args, self.dir, self.params = args, directory, params
        self.path, self.manifest_path, self.sums = (
            os.path.join(directory, name) for name in
            ("dst", "dst.blkm", "dst.sum"))
        with open(self.path, "wb") as f:
            f.truncate(params.size)
        self.disk = bytes(params.size)
        self.described = None   # by the manifest, which is empty if it is None
        self.audit = None       # of the last pass, if there was something wrong

    def manifest_of(self, disk):
        return manifest(disk, self.params.block_size)

    # ---- A pass ----

    def run_pass(self, requests, lost=False, kill=None):
        """With LOST what is written is acknowledged, and not on the disk.
        Returns false if the audit has found a difference."""
        if not requests:
            return True
        server = self.serve(["--filter=cow"] if lost else [])
        try:
            server.start()
            self.run_client(server, requests, kill)
            if not kill or kill.party != "server":
                server.all_closed()
                server.process.send_signal(signal.SIGTERM)
                server.wait_for_end(signal.SIGTERM, "after a pass")
        finally:
            server.kill()
            remove(server.socket, server.socket + ".pid")
        before, self.disk = self.disk, content(self.path)
        if kill:
            return self.check_killed()
        view = written(before, requests)
        if self.disk != (before if lost else view):
            raise Failed("THE DISK IS WRONG")
        return self.check(before, view, requests)

    def serve(self, below):
        remove(self.sums)
        return Server(self.args, os.path.join(self.dir, "dst.sock"), [
            "--filter=" + self.args.filter, *below, "file", self.path,
            "blkhash-file=" + self.sums,
            "blkhash-manifest=" + self.manifest_path, "blkhash-update=true",
            "blkhash-audit=" + self.params.copy_audit,
            "blkhash-block-size=%d" % self.params.block_size], self.path)

    def run_client(self, server, requests, kill):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                copy(server.socket, requests, kill, server.process.pid)
                status = 0
            except nbd.Error as e:
                if not kill:
                    os.write(2, str(e).encode())
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != 0 and not kill:
            raise Failed("the client failed: %d\n%s" % (status, server.log(9)))

    # ---- What the filter wrote ----

    def check_killed(self):
        """After SIGKILL of a party, which may have ended before."""
        data, right = content(self.manifest_path), self.manifest_of(self.disk)
        if data not in (b"", right):
            raise Failed("A STALE MANIFEST of a killed pass")
        self.check_sum(right)
        self.described = self.disk if data else None
        return True

    def check_sum(self, right):
        """The result file has no other sum than that of the manifest RIGHT,
        which is in its last record."""
        found = re.findall(b"^blk-.* \\(-\\) = ([0-9a-f]{64})$", content(self.sums), re.M)
        if found not in ([], [right[-40:-8].hex().encode()]):
            raise Failed("A WRONG SUM of the destination")
        return bool(found)

    def check(self, before, view, requests):
        """VIEW is what the filter saw at the end of the pass.  What it did not
        read it takes from the old manifest."""
        size = self.params.block_size
        touched = blocks_of(ranges_of(requests), size)
        described = bytearray(self.described or view)
        for n in touched:
            described[n * size:(n + 1) * size] = view[n * size:(n + 1) * size]
        wrong = self.find_wrong(before, touched)
        data = content(self.manifest_path)
        if not data:
            self.check_found(wrong)
            self.described = None
            return False
        right = self.manifest_of(described)
        if data != right or not self.check_sum(right):
            raise Failed("WRONG MANIFEST of the destination")
        self.described = bytes(described)
        return True

    def find_wrong(self, before, touched):
        """The blocks in which the old manifest is wrong, and that are not
        written.  Sets the audit, if there are any."""
        size, unit = self.params.block_size, max(self.params.block_size, UNIT)
        wrong = set()
        if self.described and self.described != before:
            wrong = {n for n in blocks_of([(0, len(before))], size) - touched
                     if before[n * size:(n + 1) * size] !=
                     self.described[n * size:(n + 1) * size]}
        units = sorted(blocks_of([(0, len(before))], unit))
        self.audit = Audit(self.params.copy_audit, units,
                           {n * size // unit for n in wrong}) if wrong else None
        return wrong

    def check_found(self, wrong):
        text = content(self.sums).decode()
        named = re.search("^# unknown -: [0-9]+ bytes at ([0-9]+) differ from "
                          "the manifest$", text, re.MULTILINE)
        if not named:
            raise Failed("no manifest: " + text)
        if int(named.group(1)) // self.params.block_size not in wrong:
            raise Failed("A RIGHT DESTINATION IS CALLED DIFFERENT: " + text)

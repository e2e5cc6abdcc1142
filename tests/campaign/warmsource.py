# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The source of a warm migration, for test-migration.py: blksum reads
a snapshot in each pass, as a file or from a server, and continues its
manifest."""

import os
import re
import signal
import subprocess
import time

import refmanifest
from server import LIMIT, Failed, Server
from warmdisk import UNIT, Audit, blocks_of, manifest, write_sparse


class Kill:
    """Kill PARTY ("server", "copier", "blksum" or "source"), at the request AT
    of a copy, or DELAY seconds after the copy has ended, or blksum begun."""

    def __init__(self, rng):
        self.party = rng.choice(("server", "copier", "blksum", "source"))
        self.at = rng.choice((0, 0.5, 0.9, 1))    # share of the requests
        self.delay = rng.random() * 0.04

    def __str__(self):
        return "%s killed at %g, %.3f s" % (self.party, self.at, self.delay)


def content(path):
    """Empty if there is no file."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def remove(*paths):
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


class Source:
    def __init__(self, args, directory, rng, params):
        self.args, self.rng, self.params = args, rng, params
        self.path = os.path.join(directory, "src.blkm")
        self.snapshot_path = os.path.join(directory, "snapshot")
        self.by_nbd = params.by_nbd
        self.known = None       # the content that the manifest describes
        self.audit = None       # of the last update

    def take_snapshot(self, disk):
        self.snapshot = disk
        write_sparse(self.snapshot_path, disk)

    def update(self, ranges, kill=None):
        """Continue the manifest; RANGES is what has changed, or None to read
        all.  Returns false if the audit has found a difference."""
        old, known = content(self.path), self.read(ranges)
        if kill:
            self.run_blksum(ranges, kill)
            if content(self.path) not in (old, self.manifest_of(known)):
                raise Failed("WRONG MANIFEST of a killed source")
        done = self.run_blksum(ranges)
        if done.returncode == 1:
            self.check_found(done.stderr)
        elif done.returncode != 0:
            raise Failed("blksum: %d: %s" % (done.returncode, done.stderr))
        else:
            self.check(known, done.stdout)
        return done.returncode == 0

    def check(self, known, out):
        """The sum is at the end of the manifest."""
        right = self.manifest_of(known)
        if content(self.path) != right:
            raise Failed("WRONG MANIFEST of the source")
        if re.findall("[0-9a-f]{64}", out) != [right[-40:-8].hex()]:
            raise Failed("A WRONG SUM of the source")
        self.known = known

    def audit_again(self, ranges):
        """Run the last update again, and keep its manifest.  Returns whether the
        audit has found a difference."""
        done = self.run_blksum(ranges, to=self.path + ".again")
        if done.returncode == 1:
            self.check_found(done.stderr)
        elif done.returncode != 0:
            raise Failed("blksum: %d: %s" % (done.returncode, done.stderr))
        return done.returncode == 1

    def manifest_of(self, disk):
        return manifest(disk, self.params.block_size)

    def read(self, ranges):
        """What the next manifest describes.  blksum reads whole units."""
        if ranges is None:
            return bytes(self.snapshot)
        unit = max(self.params.block_size, UNIT)
        units = blocks_of([(0, len(self.snapshot))], unit)
        listed = blocks_of(ranges, unit)
        known, self.wrong = bytearray(self.known), set()
        for n in units:
            place = slice(n * unit, (n + 1) * unit)
            if n in listed:
                known[place] = self.snapshot[place]
            elif known[place] != self.snapshot[place]:
                self.wrong.add(n)
        self.audit = Audit(self.params.source_audit, sorted(units - listed),
                           self.wrong)
        return bytes(known)

    def check_found(self, text):
        named = [(int(start), int(length)) for length, start in re.findall(
            r": (\d+) bytes at (\d+) differ from ", text)]
        unit = max(self.params.block_size, UNIT)
        if not named or not blocks_of(named, unit) <= self.wrong:
            raise Failed("A RIGHT SOURCE IS CALLED DIFFERENT: " + text)

    # ---- blksum ----

    def command(self, ranges, to):
        if ranges is None:
            return ["blksum", "-b", str(self.params.block_size), "--manifest",
                    to]
        with open(self.path + ".list", "w") as f:
            f.write(refmanifest.changes(len(self.snapshot), ranges))
        return ["blkhash", "update", "--manifest", to, "--changed",
                self.path + ".list", "--audit", self.params.source_audit,
                self.path]

    def run_blksum(self, ranges, kill=None, to=None):
        """KILL is of blksum, or of the server that it reads from.  TO is where
        the new manifest goes, if not to the place of the old one."""
        command = self.command(ranges, to or self.path)
        if not self.by_nbd and not (kill and kill.party == "source"):
            return self.finish([*command, self.snapshot_path], kill)
        socket = self.snapshot_path + ".sock"
        server = Server(self.args, socket, ["-r", "file", self.snapshot_path],
                        self.snapshot_path)
        try:
            server.start()
            return self.finish([*command, "nbd+unix:///?socket=" + socket],
                               kill, server)
        finally:
            server.kill()
            remove(socket, socket + ".pid")

    def finish(self, command, kill, server=None):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.PIPE)
        if kill:
            time.sleep(kill.delay)
            victim = process if kill.party == "blksum" else server.process
            victim.send_signal(signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT)
        return subprocess.CompletedProcess(command, process.returncode, out,
                                           err)

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of test-call-faults.py with nbdkit: the life of a server with one of our
filters, four clients at a time and then one or two, and what may come of it when
a call of the filter fails."""

import os
import random
import re

import refmanifest
import verifyfiles
from serverjob import (BLOCK, CLIENTS, ERROR, QUARTER, RIGHT, SIZE, ServerJob,
                       Wrong, content, hashed, need, sum_of, write)

# A result that can neither be replaced nor removed.
MAY_BE_WRONG = "it may be wrong now"


# ---- The blkhash filter ----

class Hashed(ServerJob):
    SUM = re.compile(rb"^blk-.* = ([0-9a-f]{64})$", re.M)

    def __init__(self, name, file, disk, rng, *parameters):
        super().__init__(name, file, parameters)
        self.disk, self.seed = disk, rng.random()

    def prepare(self, directory):
        self.written = bytearray(self.disk)
        write(os.path.join(directory, "disk"), self.disk)
        write(os.path.join(directory, "sums"),
              sum_of(self.disk).encode() + b"  -\n")
        if self.has_manifest():
            write(os.path.join(directory, "manifest"),
                  refmanifest.write(hashed(self.disk)))

    def has_manifest(self):
        return "blkhash-manifest" in " ".join(self.parameters)

    def crowds(self):
        yield [("", self.user(i)) for i in range(CLIENTS)]
        yield [("", self.user(0, QUARTER // 2))]

    def user(self, number, n=QUARTER):
        """Each one changes its part of the disk."""
        first, rng = number * QUARTER, random.Random("%s %d %d" % (
            self.seed, number, n))
        data = rng.randbytes(n)

        def use(client):
            h, written = client.h, self.written

            def change(what, function, offset, new):
                offset += first
                if client.ask(what, function, offset, new):
                    written[offset:offset + len(new)] = new

            def put(offset, new):
                h.pwrite(new, offset)

            def zero(offset, new):
                h.zero(len(new), offset)

            client.read(written, first, n // 2)
            client.extents(first, n)
            change("write", put, 0, data[:2 * BLOCK])
            change("write", put, 2 * BLOCK + 77, data[:100])
            change("zero", zero, n // 2, bytes(BLOCK + 33))
            change("write", put, n - 3000, data[-3000:])
            client.ask("flush", h.flush)
            client.read(written, first, n)
            change("write", put, n - 10, data[:10])
            client.ask("cache", h.cache, BLOCK, first)
            # Its content is not known: it is not compared.
            client.ask("trim", h.trim, 1000, first + n - 5000)
            if number % 2:
                client.ask("flush", h.flush)
        return use

    def compare_disk(self, disk):
        """With what clients wrote, without what they trimmed."""
        for first in range(0, SIZE, QUARTER):
            for trimmed in QUARTER, QUARTER // 2:
                at = first + trimmed - 5000
                self.written[at:at + 1000] = disk[at:at + 1000]
        need(disk == self.written, "the disk is not what was written to it")

    def after_crowd(self, directory, errors):
        self.judge_sum(directory, errors)

    def judge_sum(self, directory, errors):
        """Returns whether there is a sum, and a manifest if there should be."""
        disk = content(os.path.join(directory, "disk"))
        sums = content(os.path.join(directory, "sums")) or b""
        manifest = content(os.path.join(directory, "manifest"))
        if not any(MAY_BE_WRONG in line for line in errors):
            need(set(self.SUM.findall(sums)) <= {sum_of(disk).encode()},
                 "WRONG SUM")
            need(manifest in (None, b"", refmanifest.write(hashed(disk))),
                 "WRONG MANIFEST")
        has_sum = self.SUM.search(sums)
        need(has_sum or errors or b"# unknown" in sums, "SILENT: no sum")
        need(manifest or errors or not has_sum or not self.has_manifest(),
             "SILENT: no manifest")
        return bool(has_sum and (manifest or not self.has_manifest()))

    def judge(self, outcome, right, fault):
        self.judge_end(outcome, right, fault)
        has_sum = self.judge_sum(outcome.directory, outcome.errors)
        if outcome.served:
            # The filter changes no errors.  nbdkit can lack memory.
            need(not outcome.failed or fault and
                 fault.function == "library_malloc" or all(
                     e.startswith("connect: ") for e in outcome.failed),
                 "CLIENT FAILED:", *outcome.failed)
            need(not outcome.failed or outcome.errors, "SILENT: a client")
            if not outcome.failed:
                self.compare_disk(content(os.path.join(outcome.directory,
                                                       "disk")))
        return RIGHT if has_sum and outcome.served and not outcome.failed \
            else ERROR

    def next(self):
        """What the next server does: a sum again."""
        return [[("", lambda client: (
            client.h.pwrite(b"again", 100), client.h.pread(SIZE // 2, 0),
            client.h.pread(SIZE // 2, SIZE // 2)))]]

    def judge_next(self, outcome, _):
        need(outcome.status == 0, "next server: status", outcome.status,
             *outcome.errors)
        need(not outcome.failed, "next server:", *outcome.failed)
        need(self.judge_sum(outcome.directory, outcome.errors),
             "next server: no sum")


# ---- The verify filter ----

class Verified(ServerJob):
    """A damaged disk.  The twin has some of the bad blocks, a copy all."""

    plugin_of_several = "file", "dir=%s/disks"

    threads = 2

    def __init__(self, name, file, data, where, several):
        self.truth = data
        self.several = several
        damaged, twin = bytearray(data), bytearray(data)
        # With several exports there are no repair sources.
        for i, block in enumerate(() if several else (0, 5, 8, 9, 10, 15, 20)):
            damaged[block * BLOCK + 7] ^= 1
            twin[block * BLOCK + 7] ^= i % 2
        self.damaged = bytes(damaged)
        self.tagged = "blk-sha256/64k (%s) = " + sum_of(self.truth)
        self.where = os.path.join(where, name.replace(" ", ""))
        os.makedirs(os.path.join(self.where, "blkm"))
        for path, what in (
                ("twin", bytes(twin)), ("copy", data),
                *(("blkm/%s.blkm" % disk, refmanifest.write(hashed(data)))
                  for disk in ("a", "b")),
                ("list", "".join(self.tagged % disk + "\n"
                                 for disk in ("a", "b")).encode())):
            write(os.path.join(self.where, path), what)
        super().__init__(name, file, self.all_parameters())
        if several:
            self.plugin = self.plugin_of_several

    def all_parameters(self):
        def path(name):
            return os.path.join(self.where, name)
        parameters = ["file=%s/result", "status=%s/status"]
        if self.several:
            parameters += ["manifest-dir=" + path("blkm"),
                           "sums=" + path("list")]
        else:
            parameters += [
                "manifest=" + path("blkm/a.blkm"),
                "sum=" + self.tagged % "-", "mapfile=%s/map",
                "repair=" + path("twin"), "repair=" + path("copy")]
        return ["blkhash-verify-" + p for p in parameters]

    def disks(self, directory):
        return [os.path.join(directory, "disks", disk) for disk in ("a", "b")] \
            if self.several else [os.path.join(directory, "disk")]

    def prepare(self, directory):
        for path in self.disks(directory):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, self.damaged)

    def name_of(self, number):
        return "ab"[number % 2] if self.several else ""

    def crowds(self):
        yield [(self.name_of(i), self.user(i)) for i in range(CLIENTS)]
        yield [(self.name_of(i), self.read_all) for i in range(2)]

    next = crowds

    def user(self, number):
        first = number * QUARTER

        def use(client):
            client.extents(first, QUARTER)
            for at in range(0, QUARTER, 30000):
                client.read(self.truth, first + at, min(5000, QUARTER - at))
            client.read(self.truth, first, QUARTER)
        return use

    def read_all(self, client):
        for at in range(0, SIZE, 4 * BLOCK):
            client.read(self.truth, at, min(4 * BLOCK, SIZE - at))

    def judge_disks(self, directory):
        """Returns whether all are good."""
        disks = [content(path) for path in self.disks(directory)]
        for disk in disks:
            need(disk == self.damaged, "the disk was written")
        return all(disk == self.truth for disk in disks)

    def judge_files(self, directory, errors):
        """Returns the lines of the result."""
        is_good = self.judge_disks(directory)
        lines = (content(os.path.join(directory, "result")) or b"").decode()
        names = ("a", "b") if self.several else ("-",)
        lines = [line for line in lines.splitlines()
                 if not line.startswith("# nbdkit-blkhash-verify")]
        for line in lines:
            need(line in [self.tagged % name for name in names] and is_good or
                 re.match(r"# (differs|unknown) ", line), "WRONG RESULT", line)
        blocks = verifyfiles.Blocks(SIZE, BLOCK)
        try:
            status = os.path.join(directory, "status")
            exports = {} if not content(status) and errors else \
                verifyfiles.read_status(status, True)
            for export in exports.values():
                states = verifyfiles.check_status(export, blocks)
                mapfile = os.path.join(directory, "map")
                if not self.several and not (
                        errors and not content(mapfile)):
                    verifyfiles.check_mapfile(verifyfiles.read_mapfile(
                        mapfile, blocks), export, blocks, states)
                if lines or not errors:
                    need(verifyfiles.expected_line(
                        export, self.tagged % export["name"]) in lines,
                        "result and status differ")
        except (verifyfiles.Wrong, ValueError, KeyError) as e:
            raise Wrong("WRONG FILES: %r" % e) from None
        return lines

    def judge(self, outcome, right, fault):
        self.judge_end(outcome, right, fault)
        if not outcome.served:
            self.judge_disks(outcome.directory)
            return ERROR
        lines = self.judge_files(outcome.directory, outcome.errors)
        outcome.lines[:] = lines
        need(not outcome.failed or outcome.errors, "SILENT: a client failed",
             *outcome.failed)
        if right is None:
            return RIGHT if not outcome.failed else ERROR
        need(sorted(lines) == sorted(right.lines) or outcome.errors,
             "SILENT: result", *lines)
        return RIGHT if not outcome.failed and \
            sorted(lines) == sorted(right.lines) else ERROR

    def judge_next(self, outcome, right):
        need(outcome.status == 0 and outcome.served, "next server: status",
             outcome.status, *outcome.errors)
        need(not outcome.failed, "next server:", *outcome.failed)
        lines = self.judge_files(outcome.directory, ())
        need(len(lines) == len(right.lines), "next server: result", *lines)


def any_disk(rng):
    disk = bytearray(rng.randbytes(SIZE))
    disk[BLOCK:4 * BLOCK] = bytes(3 * BLOCK)
    return bytes(disk)


def jobs(filter, verify, where, disk, rng):
    """WHERE is a directory."""
    file, manifest = "blkhash-file=%s/sums", "blkhash-manifest=%s/manifest"
    yield Hashed("blkhash", filter, disk, rng, file, manifest)
    yield Hashed("blkhash, update", filter, disk, rng, file, manifest,
                 "blkhash-update=true")
    yield Verified("verify, repair", verify, disk, where, False)
    yield Verified("verify, exports", verify, disk, where, True)

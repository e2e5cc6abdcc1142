# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A random disk of the campaign of the verify filter: its content, the faults of
the plugin, its manifest, which is attacked, and how reads of it must end."""

import collections
import os
import random
import re
import threading

import reference
import refmanifest
import verifyfiles
from server import Failed
from verifyfiles import FAIL, MAY, PASS

DIGESTS = ["sha256"] * 4 + ["sha512", "md5", "blake2b512", "sha1"]


class Fault:
    def __init__(self, disk):
        rng, size = disk.rng, len(disk.truth)
        self.kind = rng.choice(("replace", "replace", "replace", "short",
                                "fail"))
        self.start = rng.randrange(size)
        self.end = min(size, self.start + rng.choice(
            (1, 1, 512, disk.block_size, rng.randrange(1, size + 1))))
        self.times = rng.choice(disk.times)
        if self.kind == "replace":
            disk.wrong[self.start:self.end] = self.content(disk)

    def content(self, disk):
        """Wrong bytes; they can be right by chance."""
        rng, size, n = disk.rng, len(disk.truth), self.end - self.start
        kind = rng.randrange(5)
        if kind == 0:
            return bytes(n)
        if kind == 1:
            at = rng.randrange(size - n + 1)
            return disk.truth[at:at + n]
        if kind == 2:
            return disk.other[self.start:self.end]
        if kind == 3:                   # a shifted read
            return disk.truth[self.start + 1:self.end] + b"\0"
        data = bytearray(disk.truth[self.start:self.end])
        data[rng.randrange(n)] ^= 1 << rng.randrange(8)
        return data

    def __str__(self):
        return "%s %d %d %d" % (self.kind, self.start, self.end, self.times)

    def is_harmless(self, disk, start, end):
        """A read from START to END is right with this fault."""
        start, end = max(start, self.start), min(end, self.end)
        return start >= end or (
            self.kind == "replace" and
            disk.wrong[start:end] == disk.truth[start:end])

    def outcome(self, disk, start, end):
        """Of a read of the block from START to END, in one request."""
        if self.is_harmless(disk, start, end):
            return PASS
        if 0 < self.times <= disk.params.retry:
            return PASS
        # What is in the buffer can be right.
        return FAIL if self.times == -1 and self.kind != "short" else MAY


class Disk:
    """PARAMS are those of the server.  One client at a time uses a disk; each
    disk has its own random numbers, so that threads can use disks at once."""

    def __init__(self, params, name, directory):
        self.params, self.name, self.dir = params, name, directory
        self.rng = rng = random.Random("%d %s" % (params.seed, name))
        self.tally = collections.Counter()
        self.truth, self.block_size = self.any_disk()
        self.other = self.any_content(len(self.truth))
        self.wrong = bytearray(self.truth)
        # Always, a few times, too often to be read again, changing.
        retry = params.retry
        few = [1] * (retry > 0) + [max(retry, 1)]
        self.times = rng.choice(([-1], few, few, [-1, *few],
                                 [-1, 0, 1, 2, retry + 1]))
        count = rng.choice((0, 1, 1, 3, 10, 40))
        # Bytes that are not stored first, so that others are wrong for certain.
        self.faults = sorted((Fault(self) for _ in range(count)),
                             key=lambda fault: fault.kind != "short")
        self.made = (rng.choice(DIGESTS), self.block_size,
                     rng.choice((0, 0, 3)), False)
        self.attacks = rng.choice((1, 1, 3)) if params.attack and \
            rng.random() < 0.7 else 0   # changes of the manifest
        self.attacked = self.stopped = self.explained = False
        self.connected = False  # a client was
        self.blocks = verifyfiles.Blocks(len(self.truth), self.block_size)
        self.outcomes = [self.outcome(i) for i in
                         range(0, len(self.truth), self.block_size)]
        self.write()

    def describe(self):
        return "%s: %d bytes, %s, %d faults, %d attacks" % (
            self.name, len(self.truth), refmanifest.tag(*self.made),
            len(self.faults), self.attacks)

    # ---- The content ----

    def any_content(self, size):
        rng, data = self.rng, bytearray()
        while len(data) < size:
            n = rng.randrange(1, rng.choice((10000, size + 1)))
            data += bytes(n) if rng.random() < 0.5 else \
                rng.randbytes(min(n, 4096)) * (n // 4096 + 1)
        return bytes(data[:size])

    def any_disk(self):
        rng = self.rng
        if rng.random() < 0.07 and not self.params.several:
            # More than the largest request.
            block_size, size = 1 << rng.randrange(16, 25), 64 << 20
            size += rng.randrange(1, 5 << 20)
        else:
            block_size = 1 << rng.randrange(9, 19)
            size = rng.randrange(1, min(2000 * block_size, 3 << 20))
        return self.any_content(size), block_size

    def outcome(self, start):
        end = min(start + self.block_size, len(self.truth))
        if self.params.zero == "skip" and not any(self.truth[start:end]):
            return PASS
        return max((fault.outcome(self, start, end)
                    for fault in self.faults), default=PASS)

    def expected(self, offset, n):
        return max(self.outcomes[offset // self.block_size:
                                 (offset + n - 1) // self.block_size + 1])

    def zeros(self):
        """The blocks that are served without reading."""
        return {i for i in range(len(self.outcomes)) if not any(
            self.truth[i * self.block_size:(i + 1) * self.block_size])} \
            if self.params.zero == "skip" else set()

    # ---- The files ----

    def path(self, suffix):
        return os.path.join(self.dir, self.name + suffix)

    def write(self):
        self.manifest = refmanifest.write(self.truth, *self.made)
        for suffix, data in (
                (".disk", self.truth), (".wrong", self.wrong),
                (".faults", "".join("%s\n" % fault for fault in
                                    self.faults).encode()),
                (".blkm", self.manifest)):
            with open(self.path(suffix), "wb") as f:
                f.write(data)

    def sum(self, form):
        """The checksum, as "%s:%s" or another form of tag and digits."""
        return form % (refmanifest.tag(*self.made),
                       reference.blkhash(self.truth, *self.made))

    # ---- Attacks ----

    def wrong_manifest(self):
        """Also that of what the plugin really returns."""
        return refmanifest.write(self.rng.choice((
            self.other, bytes(self.wrong), bytes(self.wrong))), *self.made)

    def change_manifest(self):
        """Change the file in place, or replace it."""
        rng, size, path = self.rng, len(self.manifest), self.path(".blkm")
        how = rng.choice(("cut", "flip", "grow", "write", "write", "replace"))
        if how == "replace":
            with open(path + ".new", "wb") as f:
                f.write(self.wrong_manifest())
            os.rename(path + ".new", path)
            return how
        with open(path, "r+b") as f:
            if how == "cut":
                f.truncate(rng.randrange(size))
            elif how == "flip":
                at = rng.randrange(size)
                f.seek(at)
                f.write(bytes([self.manifest[at] ^ 1 << rng.randrange(8)]))
            elif how == "grow":
                f.seek(size)
                f.write(b"x" * rng.randrange(1, 1000))
            else:
                f.write(self.wrong_manifest())
        return how

    def attack(self, ended):
        """Change the manifest at random moments, until ENDED."""
        for _ in range(self.attacks):
            if ended.wait(self.rng.choice((0, 0, 0.005, 0.05)) *
                          self.rng.random()):
                return
            self.tally["manifest: " + self.change_manifest()] += 1

    def begin_attack(self):
        """Returns a function that ends it."""
        self.attacked, ended = True, threading.Event()
        thread = threading.Thread(target=self.attack, args=(ended,))
        thread.start()
        if self.rng.random() < 0.5:
            thread.join()

        def end():
            ended.set()
            thread.join()
        return end

    # ---- What clients got ----

    def may_be_refused(self):
        return self.attacked or (self.stopped and self.params.fail == "stop")

    def explain(self, what, log):
        """A request failed because of the manifest: the log says so.  Each
        reason is logged with the name of the manifest."""
        if not self.explained and not re.search(
                "error: .*%s(: | has changed)" %
                re.escape(self.path(".blkm")), log):
            raise Failed("GOOD CONTENT REFUSED, AND NO REASON: %s" % what)
        self.explained = True

    def judge(self, what, failed, expected, read_log):
        """A read ended; EXPECTED is how it should."""
        self.tally["%s: %s" % (what.split()[0],
                               "refused" if failed else "right")] += 1
        if failed and expected == PASS and not self.may_be_refused():
            raise Failed("GOOD CONTENT REFUSED: %s" % what)
        if failed and expected == PASS and self.attacked and \
           self.params.fail != "stop":
            self.explain(what, read_log())
        if not failed and expected == FAIL:
            raise Failed("NOT REFUSED: %s" % what)
        self.stopped |= failed

    def compare(self, what, data, offset):
        if data != self.truth[offset:offset + len(data)]:
            raise Failed("BAD BYTES DELIVERED: %s" % what)

    def compare_copy(self, what, data):
        self.compare(what, data[:len(self.truth)], 0)
        extra = data[len(self.truth):]  # qemu-img rounds sizes to 512 bytes
        if len(data) < len(self.truth) or any(extra) or len(extra) > 511:
            raise Failed("%s: %d bytes" % (what, len(data)))

    def compare_part(self, what, data):
        """Of a copy that failed, all that was written is right."""
        for at in range(0, len(self.truth), 512):
            part = data[at:at + 512]
            if any(part):
                self.compare(what + " before it failed",
                             part[:len(self.truth) - at], at)

    def compare_extents(self, found):
        """FOUND: lengths and flags in turn."""
        at = 0
        for n, flags in zip(found[::2], found[1::2]):
            zero = not any(self.truth[at:at + n])
            if flags & 2 and (not zero or self.params.zero == "read"):
                raise Failed("WRONG EXTENT: %d bytes at %d" % (n, at))
            at += n
        self.tally["extents: right"] += 1

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Randomised differential test of libblkhash against reference.py.

Each round makes an image and hashes it with one digest through all interfaces
of the library, in random pieces: by streaming, synchronous and asynchronous; by
a leaf table of which parts are rewritten, zeroed and forgotten by one or many
threads; by a leaf table that gets each byte once.  The size of the image is set
at the start or later.  blkhash-driver makes the calls; each digest must be that
of reference.py, and after each step the table must report as present what it
must have, and nothing else (class Model).

    test-random.py --driver PATH [--seed S] [--rounds N] [--only ROUND]
                   [--digest NAME]

The seed is printed; the same seed makes the same rounds, for any N, but the
scheduling of threads differs.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect
of the options; BLKHASH_DRIVER_WRAPPER is a command that runs the driver, such
as "valgrind -q --error-exitcode=99".
"""

import argparse
import errno
import os
import random
import re
import shlex
import signal
import subprocess
import sys

import reference

DEFAULT_ROUNDS = 100
ROUND_TIMEOUT = 300             # seconds; generous, for valgrind
TRANSCRIPT_TAIL = 60            # operations shown when a round fails
LEAVES_ONCE = 1
SIZE_UNKNOWN = 2**64 - 1
LINEAR = "linear"               # instead of a number of streams

# Digests of all builds, and digests that depend on the libraries of a build.
REQUIRED = {"sha256", "sha512", "sha1", "md5", "sha3-256", "blake2b512",
            "null"}
OPTIONAL = {"blake3", "blake2b-256", "xxh3-128", "xxh64"}

NONZERO = re.compile(b"[^\0]")


class Failure(Exception):
    pass


def expect(what, expected, got):
    if expected != got:
        raise Failure("%s:\n  expected %s\n  got      %s"
                      % (what, str(expected)[:300], str(got)[:300]))


# ---- The driver -----------------------------------------------------------


class Driver:
    """Runs operations; a reply is (errno value, result)."""

    def __init__(self, path):
        wrapper = shlex.split(os.environ.get("BLKHASH_DRIVER_WRAPPER", ""))
        self.process = subprocess.Popen(wrapper + [path],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.transcript = []

    def send(self, line, data=b""):
        self.transcript.append(line)
        try:
            self.process.stdin.write(line.encode() + b"\n" + data)
        except BrokenPipeError:
            self.died()

    def answer(self, line=-1):
        """The next reply, to the operation at LINE of the transcript."""
        try:
            self.process.stdin.flush()
        except BrokenPipeError:
            self.died()
        text = self.process.stdout.readline().decode()
        if not text.endswith("\n"):
            self.died()
        status, _, result = text.partition(" ")
        if status == "ok":
            answer = 0, result.strip()
        else:
            answer = int(result), ""
        self.transcript[line] += "  -> %s" % text.strip()[:80]
        return answer

    def died(self):
        raise Failure("the driver ended, status %s" % self.process.wait())

    def run(self, line, data=b"", expected=0):
        """Run one operation, which returns EXPECTED; returns its result."""
        self.send(line, data)
        err, result = self.answer()
        expect(line, name_of(expected), name_of(err))
        return result

    def batch(self, threads, lines):
        """Run operations in THREADS threads at once; returns the replies."""
        self.send("batch %d %d" % (threads, len(lines)))
        for line in lines:
            self.send(line)
        return [self.answer(i - len(lines)) for i in range(len(lines))]

    def close(self):
        self.process.stdin.close()
        status = self.process.wait()
        if status != 0:
            raise Failure("the driver ended with status %d" % status)


def name_of(err):
    return errno.errorcode.get(err, str(err)) if err else "ok"


# ---- Images ---------------------------------------------------------------


class Image:
    """LEAD zero bytes, BODY, TRAIL zero bytes.  Only the body is in memory.

    The length of the lead is a multiple of the block size, and so is that of
    the body if there is a trail: each block is in one part."""

    def __init__(self, rng, digest, block_size):
        self.bs = block_size
        slow = digest in reference.SLOW
        limit = min(rng.choice([20, 600, 6000]) * block_size,
                    96 << 10 if slow else 6 << 20)
        self.body = random_body(rng, random_size(rng, block_size, limit),
                                block_size)
        self.lead = self.trail = 0
        if not slow and rng.random() < 0.25:
            blocks = 1 << rng.choice([rng.randrange(17)] * 20 + [21])
            if block_size >= 32768 and rng.random() < 0.5:
                blocks = (1 << 33) // block_size
            self.lead = block_size * rng.randrange(blocks + 1)
            if len(self.body) % block_size == 0:
                self.trail = rng.randrange(block_size * blocks + 1)
        self.size = self.lead + len(self.body) + self.trail

    def hash(self, digest, streams):
        linear = streams == LINEAR
        return reference.blkhash([self.lead, bytes(self.body), self.trail],
                                 digest, self.bs, 0 if linear else streams,
                                 linear)

    def blocks(self, start, end):
        """The blocks that overlap [start, end) of the body."""
        for first in range(start // self.bs * self.bs, end, self.bs):
            yield first, min(first + self.bs, len(self.body))

    def zero_run(self, pos):
        """The number of zero bytes of the image from POS on."""
        at = pos - self.lead
        match = NONZERO.search(self.body, max(at, 0))
        return (match.start() - at) if match else self.size - pos


def random_size(rng, block_size, limit):
    blocks = max(1, limit // block_size)
    n = rng.choice([0, 1, 2, 3, rng.randrange(blocks + 1),
                    rng.randrange(blocks + 1)])
    size = n * block_size + rng.choice([0, 0, 1, -1, rng.randint(15, 18),
                                        rng.randrange(block_size)])
    return min(max(size, 0), limit)


def random_piece(rng, block_size, limit):
    """The length of a piece of an image, at most LIMIT, which is not 0."""
    n = rng.choice([1, rng.randint(1, 17), block_size - 1, block_size,
                    block_size + 1, rng.randint(1, 2 * block_size),
                    rng.randint(1, 9) * block_size,
                    rng.randint(1, 60 * block_size), rng.randint(1, limit)])
    return min(n, limit)


def random_content(rng, size):
    """Content as in images, including content that confuses zero detection."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return b"\x55" * size
    content = bytearray(size)
    if kind == 2:
        for pos in (0, 7, 8, 15, 16, 17, size // 2, size - 1):
            if pos < size and rng.random() < 0.2:
                content[pos] = 1 << rng.randrange(8)
    elif kind == 3:
        content[-1] = 1
    return bytes(content)


def random_body(rng, size, block_size):
    body = bytearray()
    while len(body) < size:
        n = rng.choice([block_size, rng.randint(1, 4) * block_size,
                        rng.randint(1, 4 * block_size)])
        body += random_content(rng, n)
    del body[size:]
    if size % block_size and rng.random() < 0.2:
        # In a short last block only the last byte is not zero.
        tail = size // block_size * block_size
        body[tail:] = bytes(size - tail - 1) + b"\1"
    return body


# ---- Streaming ------------------------------------------------------------


def stream_operations(rng, image, queue_depth):
    """Operations that append the image."""
    pos = 0
    # Some pieces of a byte among larger ones, but not thousands.
    shortest = len(image.body) // 200
    while pos < image.size:
        at = pos - image.lead
        in_body = 0 <= at < len(image.body)
        run = image.zero_run(pos)
        if run > 0 and (not in_body or rng.random() < 0.6):
            n = run if rng.random() < 0.5 else rng.randint(1, run)
            yield "zero %d" % n
        else:
            n = random_piece(rng, image.bs, len(image.body) - at)
            if rng.random() < 0.8:
                n = min(max(n, shortest), len(image.body) - at)
            call = "aio" if queue_depth and rng.random() < 0.6 else "update"
            yield "%s %d %d" % (call, at, n)
        pos += n
        if rng.random() < 0.03:
            yield rng.choice(["zero 0", "update 0 0",
                              "aio 0 0" if queue_depth else "zero 0"])
        if rng.random() < 0.02:
            yield "reap"


def test_stream(rng, driver, image, digest, streams, expected):
    threads = rng.choice([1, 2, 3, 4, 8, 16, 64, rng.randint(1, 64)])
    queue_depth = rng.choice([0, 1, 2, 16, rng.randint(1, 200)])
    driver.run("new %s %d %s %d %d" % (digest, image.bs, streams, threads,
                                       queue_depth))
    operations = list(stream_operations(rng, image, queue_depth))
    if rng.random() < 0.15:
        # Freed unfinished: nothing to compare; for the sanitizers.
        operations = operations[:rng.randrange(len(operations) + 1)]
        for operation in operations:
            driver.run(operation)
    else:
        for operation in operations:
            driver.run(operation)
        if rng.random() < 0.5:
            driver.run("reap")
        if queue_depth == 0 and rng.random() < 0.1:
            driver.run("aio 0 0", expected=errno.ENOTSUP)
            driver.run("final", expected=errno.ENOTSUP)
        else:
            expect("streaming", expected, driver.run("final"))
    driver.run("free")


# ---- The leaf table -------------------------------------------------------

MISSING, KNOWN, EITHER = 0, 1, 2


class Model:
    """What a leaf table must and must not have of the body, byte by byte.

    EITHER is left open by blkhash.h: what several threads, in any order, left
    of a block.  The last content given is image.body, and the content in the
    table must be that."""

    def __init__(self, image):
        self.image = image
        self.body = image.body
        self.map = bytearray(len(image.body))

    def complete(self, first, end):
        return self.map.find(MISSING, first, end) == -1

    def is_data(self, first, end):
        return self.body.count(0, first, end) != end - first

    def mark(self, start, end, value):
        self.map[start:end] = bytes([value]) * (end - start)

    def doubt(self, start, end):
        self.map[start:end] = self.map[start:end].replace(bytes([KNOWN]),
                                                          bytes([EITHER]))

    def apply(self, kind, start, end, data):
        """Apply one operation; DATA becomes the content of [start, end)."""
        for first, last in self.image.blocks(start, end):
            # Of a complete block of data the table has only the leaf; or its
            # content, if it was zeros before.
            if ((first < start or end < last) and self.complete(first, last)
                    and self.is_data(first, last)):
                self.doubt(first, last)
        self.body[start:end] = data
        self.mark(start, end, MISSING if kind == "forget" else KNOWN)

    def change(self, start, data):
        """The content that parallel operations will give again."""
        end = start + len(data)
        for first, last in self.image.blocks(start, end):
            if self.complete(first, last):
                self.doubt(first, last)
        self.body[start:end] = data

    def apply_parallel(self, operations):
        """Operations (kind, start, end) in any order, on the final content."""
        touched = {}
        for kind, start, end in operations:
            for first, last in self.image.blocks(start, end):
                touched.setdefault((first, last), []).append(
                    (kind, max(start, first), min(end, last)))
        for (first, last), parts in touched.items():
            given = sorted(p[1:] for p in parts if p[0] != "forget")
            forgotten = [p[1:] for p in parts if p[0] == "forget"]
            if not forgotten and all(p == (first, last) for p in given):
                self.mark(first, last, KNOWN)
                continue
            disjoint = all(a[1] <= b[0] for a, b in zip(given, given[1:]))
            fresh = all(not self.map[s:e].strip(bytes([MISSING]))
                        for s, e in given)
            if not forgotten and disjoint and fresh:
                for s, e in given:
                    self.mark(s, e, KNOWN)
                continue
            self.doubt(first, last)
            for s, e in forgotten:
                self.mark(s, e, MISSING)
            for s, e in given:
                self.mark(s, e, EITHER)

    def observe(self, missing):
        """Compare with the MISSING ranges of the table, and adopt them."""
        lead, end = self.image.lead, len(self.map)
        seen = bytearray([KNOWN]) * end
        pos = 0
        for s, e in [(s - lead, e - lead) for s, e in missing] + [(end, end)]:
            if s < 0 or e > end:
                raise Failure("%d bytes at %d are missing, not in the body"
                              % (e - s, s + lead))
            for at, what in ((self.map.find(MISSING, pos, s),
                              "must be missing, is present"),
                             (self.map.find(KNOWN, s, e),
                              "must be present, is missing")):
                if at != -1:
                    raise Failure("the byte at %d %s" % (at + lead, what))
            seen[s:e] = bytes(e - s)
            pos = e
        self.map = seen

    def counts(self):
        """Bytes in blocks of data and of zeros; only after observe()."""
        data = zero = 0
        for first, last in self.image.blocks(0, len(self.map)):
            if self.complete(first, last):
                if self.is_data(first, last):
                    data += last - first
                else:
                    zero += last - first
        return data, zero + self.image.lead + self.image.trail


def parse_ranges(text):
    """Ranges (start, end), adjacent ones joined."""
    numbers = [int(word) for word in text.split()]
    ranges = []
    for start, length in zip(numbers[::2], numbers[1::2]):
        if ranges and ranges[-1][1] == start:
            ranges[-1] = ranges[-1][0], start + length
        else:
            ranges.append((start, start + length))
    return ranges


class TableTest:
    def __init__(self, rng, driver, image, digest, streams, flags):
        self.rng, self.driver, self.image = rng, driver, image
        self.digest, self.streams, self.flags = digest, streams, flags
        self.model = Model(image)
        self.size_known = rng.random() < 0.5
        driver.run("leaves-new %s %d %s %d %d" % (
            digest, image.bs, streams,
            image.size if self.size_known else SIZE_UNKNOWN, flags))

    def operation(self, kind, start, end):
        """The operation of the driver on [start, end) of the body."""
        offset = start + self.image.lead
        if kind == "data":
            return "leaves-data %d %d %d" % (start, end - start, offset)
        return "leaves-%s %d %d" % (kind, end - start, offset)

    def zero_ends(self):
        """Operations that give the lead and the trail."""
        operations = []
        end = self.image.lead + len(self.image.body)
        for pos, stop in (0, self.image.lead), (end, self.image.size):
            while pos < stop:
                n = self.rng.randint(1, stop - pos)
                operations.append("leaves-zero %d %d" % (n, pos))
                pos += n
        return operations

    def threads(self):
        return self.rng.choice([1, 2, 4, 16, self.rng.randint(1, 64)])

    def batch(self, operations):
        for operation, (err, _) in zip(operations, self.driver.batch(
                self.threads(), operations)):
            expect(operation, "ok", name_of(err))

    def missing(self, offset=0):
        ranges = parse_ranges(self.driver.run("leaves-missing %d" % offset))
        if self.size_known:
            return ranges
        # The last range, up to the maximum size.
        start, end = ranges.pop()
        expect("the end of what is missing", SIZE_UNKNOWN, end)
        if start < self.image.size:
            ranges.append((start, self.image.size))
        return ranges

    def set_size(self):
        if not self.size_known:
            self.driver.run("leaves-size %d" % self.image.size)
        self.size_known = True
        if self.rng.random() < 0.5:
            self.driver.run("leaves-size %d" % self.image.size,
                            expected=errno.EINVAL)
        self.check_outside()

    def check(self):
        """Compare what the table reports with the model."""
        if not self.size_known:
            self.driver.run("leaves-fold", expected=errno.ENODATA)
            if self.rng.random() < 0.3:
                self.set_size()
        missing = self.missing()
        self.model.observe(missing)
        offset = self.rng.randint(0, self.image.size +
                                  self.rng.choice([0, 2 * self.image.bs]))
        expect("missing from %d" % offset,
               [(max(s, offset), e) for s, e in missing if e > offset],
               self.missing(offset))
        if not self.size_known:
            return              # whether the last block is complete is unknown
        expect("count", "%d %d" % self.model.counts(),
               self.driver.run("leaves-count"))
        if missing:
            self.driver.run("leaves-fold", expected=errno.ENODATA)
        elif not self.flags & LEAVES_ONCE:
            self.check_fold()

    def check_fold(self):
        expect("fold", self.image.hash(self.digest, self.streams),
               self.driver.run("leaves-fold"))

    def check_outside(self):
        """Ranges beyond the end are refused, also if sums overflow."""
        size = self.image.size
        operations = ["leaves-zero 1 %d" % size,
                      "leaves-zero %d %d" % (2**64 - 1, 1)]
        if not self.flags & LEAVES_ONCE:
            operations += ["leaves-forget 2 %d" % max(size - 1, 0),
                           "leaves-forget 1 %d" % (2**64 - 1)]
        for operation in operations:
            self.driver.run(operation, expected=errno.EINVAL)
        if self.image.body:
            for offset in size, 2**64 - 1:
                self.driver.run("leaves-data 0 1 %d" % offset,
                                expected=errno.EINVAL)

    def random_range(self):
        size = len(self.image.body)
        n = random_piece(self.rng, self.image.bs, size)
        start = self.rng.randint(0, size - n)
        if self.rng.random() < 0.4:
            start -= start % self.image.bs
        return start, start + n

    def patch(self, start, data):
        """Change the content, only in the driver."""
        self.driver.run("patch %d %d" % (start, len(data)), data)

    def data_or_zero(self, start, end):
        """An operation that gives [start, end) as data or as zeros, as in the
        image."""
        if self.model.is_data(start, end):
            return "data"
        return self.rng.choice(["data", "zero"])

    def rewrite_in_sequence(self):
        """One thread; each operation has content of its own."""
        for _ in range(self.rng.randint(1, 12)):
            start, end = self.random_range()
            kind = self.rng.choice(["data", "data", "same", "zero", "forget"])
            data = self.image.body[start:end]
            if kind == "data":
                data = random_content(self.rng, end - start)
                self.patch(start, data)
            elif kind == "zero":
                data = bytes(end - start)
                self.patch(start, data)
            elif kind == "same":
                kind = "data"
            self.driver.run(self.operation(kind, start, end))
            self.model.apply(kind, start, end, data)
        if self.rng.random() < 0.2:
            self.driver.run("leaves-data 0 0 %d"
                            % self.rng.randint(0, self.image.size))

    def rewrite_in_parallel(self):
        """Many threads; all operations have the same content, which may be
        new."""
        ranges = [self.random_range()
                  for _ in range(self.rng.randint(1, 40))]
        changed = self.rng.random() < 0.5
        if changed:
            start, end = ranges[0]
            data = random_content(self.rng, end - start)
            self.patch(start, data)
            self.model.change(start, data)
        operations = [(self.data_or_zero(*r), *r) for r in ranges]
        for i in range(1, len(ranges)):
            if self.rng.random() < 0.05:
                operations[i] = ("forget", *ranges[i])
        self.model.apply_parallel(operations)
        lines = [self.operation(*operation) for operation in operations]
        lines += ["leaves-fold", "leaves-missing 0"] * self.rng.randrange(3)
        self.rng.shuffle(lines)
        answers = self.driver.batch(self.threads(), lines)
        for line, (err, result) in zip(lines, answers):
            if line != "leaves-fold":
                expect(line, "ok", name_of(err))
            elif err == 0 and not changed:
                expect("fold among other calls",
                       self.image.hash(self.digest, self.streams), result)
            elif err not in (0, errno.ENODATA, errno.EBUSY):
                raise Failure("fold during other calls: " + name_of(err))

    def race_for_blocks(self):
        """One thread gives the last piece of a block, and while it hashes the
        block, another thread changes the first piece."""
        blocks = [b for b in self.image.blocks(0, len(self.image.body))
                  if b[1] - b[0] > 1]
        operations = []
        for first, last in self.rng.sample(blocks, min(len(blocks), 6)):
            middle = self.rng.randint(first + 1, last - 1)
            before = ("forget", first, last), ("data", first, middle)
            for kind, s, e in before:
                self.driver.run(self.operation(kind, s, e))
                self.model.apply(kind, s, e, self.image.body[s:e])
            data = self.rng.randbytes(middle - first)
            self.patch(first, data)
            self.model.change(first, data)
            operations += [(self.rng.choice(["data", "data", "forget"]),
                            first, middle), ("data", middle, last)]
        self.rng.shuffle(operations)
        self.model.apply_parallel(operations)
        self.batch([self.operation(*o) for o in operations])

    def race_with_fold(self):
        """A fold during changes returns the hash of one state of the image."""
        self.complete()
        blocks = list(self.image.blocks(0, len(self.image.body)))
        i = self.rng.randrange(len(blocks))
        start, end = blocks[i][0], blocks[min(i + 32, len(blocks)) - 1][1]
        hashes = []
        for data in (self.image.body[start:end], bytes(end - start),
                     random_body(self.rng, end - start, self.image.bs)):
            self.image.body[start:end] = data
            hashes.append(self.image.hash(self.digest, self.streams))
        self.patch(start, data)
        data = self.operation("data", start, end)
        lines = [data, self.operation("zero", start, end),
                 "leaves-fold", "leaves-fold"]
        # A fold of millions of blocks is slow.
        lines *= 20 if self.image.size < 10000 * self.image.bs else 1
        self.rng.shuffle(lines)
        for line, (err, result) in zip(lines, self.driver.batch(
                self.rng.randint(2, 4), lines)):
            if line != "leaves-fold":
                expect(line, "ok", name_of(err))
            elif err != errno.EBUSY and (err or result not in hashes):
                raise Failure("fold during changes: %s %s, not one of %s"
                              % (name_of(err), result, hashes))
        self.driver.run(data)

    def complete(self):
        """Give missing ranges in disjoint pieces; then nothing must be
        missing."""
        operations = []
        for start, end in self.missing():
            pos = start - self.image.lead
            end -= self.image.lead
            while pos < end:
                n = max(random_piece(self.rng, self.image.bs, end - pos),
                        min(end - pos, len(self.image.body) // 100))
                operations.append((self.data_or_zero(pos, pos + n),
                                   pos, pos + n))
                pos += n
        self.rng.shuffle(operations)
        self.model.apply_parallel(operations)
        self.batch([self.operation(*o) for o in operations])
        if not self.size_known:
            self.refuse_too_small()
        self.set_size()
        self.check()
        expect("missing when everything was given", [], self.missing())

    def refuse_too_small(self):
        """The size cannot be smaller than the image that was given."""
        if self.image.size > 0:
            self.driver.run("leaves-size %d"
                            % self.rng.randrange(self.image.size),
                            expected=errno.EINVAL)

    def run_rewritten(self):
        if self.size_known:
            self.check_outside()
        self.batch(self.zero_ends())
        self.check()
        for _ in range(self.rng.randint(1, 3)):
            if self.image.body:
                for _ in range(self.rng.randrange(3)):
                    self.rng.choice([self.rewrite_in_sequence,
                                     self.rewrite_in_parallel,
                                     self.race_for_blocks,
                                     self.race_with_fold])()
                    self.check()
                if self.rng.random() < 0.1:
                    break               # freed while parts are missing
            self.complete()
        self.driver.run("leaves-free")

    def refuse_twice(self, start, end):
        """A byte that was given once is given again, or forgotten."""
        at = self.rng.randrange(start, end)
        kind = self.rng.choice(["data", "zero", "forget"])
        self.driver.run(self.operation(kind, at,
                                       self.rng.randint(at + 1, end)),
                        expected=errno.EEXIST)

    def refuse_overlap(self, start, end):
        """The same, with bytes around the range, which become undefined."""
        start = max(0, start - self.rng.randint(0, 2 * self.image.bs))
        end = min(len(self.image.body),
                  end + self.rng.randint(0, 2 * self.image.bs))
        if self.rng.random() < 0.5:
            start -= start % self.image.bs
            end = min(-(-end // self.image.bs) * self.image.bs,
                      len(self.image.body))
        self.driver.run(self.operation("data", start, end),
                        expected=errno.EEXIST)

    def once_pieces(self):
        """Disjoint pieces that cover the body."""
        size = len(self.image.body)
        pieces, pos = [], 0
        while pos < size:
            n = max(random_piece(self.rng, self.image.bs, size - pos),
                    min(size - pos, size // 100))
            pieces.append((pos, pos + n))
            pos += n
        if self.rng.random() < 0.7:
            self.rng.shuffle(pieces)
        return pieces

    def last_batch(self, lines):
        """Give the last pieces during folds; returns whether a fold
        succeeded."""
        folded = refused = False
        lines += ["leaves-fold"] * self.rng.choice([1, 3, 500])
        if not self.size_known:
            lines.append("leaves-size %d" % self.image.size)
            self.rng.shuffle(lines)
            self.size_known = True
        for line, (err, result) in zip(lines, self.driver.batch(
                self.threads(), lines)):
            if line != "leaves-fold":
                expect(line, "ok", name_of(err))
            elif err == 0:
                expect("folded twice", False, folded)
                expect("fold with the last pieces",
                       self.image.hash(self.digest, self.streams), result)
                folded = True
            elif err == errno.EINVAL:
                refused = True
            elif err not in (errno.ENODATA, errno.EBUSY):
                raise Failure("fold with the last pieces: " + name_of(err))
        if refused and not folded:
            raise Failure("fold with the last pieces: EINVAL, the first time")
        return folded

    def run_once(self):
        folded = False
        pieces = self.once_pieces()
        if self.size_known:
            self.check_outside()
        self.batch(self.zero_ends())
        while pieces:
            self.check()
            n = self.rng.randint(1, len(pieces))
            operations = [(self.data_or_zero(*p), *p) for p in pieces[:n]]
            lines = [self.operation(*o) for o in operations]
            self.model.apply_parallel(operations)
            if n == len(pieces) and self.rng.random() < 0.3:
                folded = self.last_batch(lines)
            else:
                self.batch(lines)
            for _ in range(self.rng.randrange(3)):
                self.refuse_twice(*self.rng.choice(pieces[:n]))
            if not folded and self.rng.random() < 0.1:
                self.refuse_overlap(*self.rng.choice(pieces[:n]))
                break
            del pieces[:n]
        else:
            self.set_size()
            self.check()
            expect("missing when everything was given", [], self.missing())
            if not folded:
                self.check_fold()
            self.driver.run("leaves-fold", expected=errno.EINVAL)
        self.driver.run("leaves-free")


# ---- Rounds ---------------------------------------------------------------


def run_round(rng, driver, digest):
    block_size = 4 << rng.randrange(19)
    streams = rng.choice([0, 0, 0, 1, 2, 3, 4, 32, 64, 1024, LINEAR, LINEAR,
                          rng.randint(1, 1024)])
    image = Image(rng, digest, block_size)
    driver.run("content %d" % len(image.body))
    driver.run("patch 0 %d" % len(image.body), bytes(image.body))
    expected = image.hash(digest, streams)
    for _ in range(rng.randint(1, 2)):
        test_stream(rng, driver, image, digest, streams, expected)
    TableTest(rng, driver, image, digest, streams, LEAVES_ONCE).run_once()
    TableTest(rng, driver, image, digest, streams, 0).run_rewritten()


def choose_digests(driver):
    """The digests to test: those of the driver that this Python has."""
    names = driver.run("digests").split()
    expect("the order of the digests", sorted(names), names)
    expect("digests that should be there", [], sorted(REQUIRED - {*names}))
    both, unknown = [], []
    for name in names:
        try:
            reference.new(name)
            both.append(name)
        except ValueError:
            unknown.append(name)
    expect("digests that the reference should have", [],
           sorted({*unknown} & (REQUIRED | OPTIONAL)))
    for note, missing in (("not tested, this Python lacks them", unknown),
                          ("not in this build", OPTIONAL - {*names})):
        if missing:
            print("note: %d digests %s: %s"
                  % (len(missing), note, " ".join(sorted(missing))))
    return both


def run_rounds(driver, seed, rounds, digest):
    driver.transcript = []
    digests = [digest] if digest else choose_digests(driver)
    random.Random(seed).shuffle(digests)
    used = set()
    for i in rounds:
        driver.transcript = []
        signal.alarm(ROUND_TIMEOUT)
        digest = digests[i % len(digests)]
        used.add(digest)
        try:
            run_round(random.Random("%s/%d" % (seed, i)), driver, digest)
        except Failure as failure:
            raise Failure("round %d: %s" % (i, failure))
    signal.alarm(0)
    driver.transcript = []
    driver.close()
    print("%d rounds, %d of %d digests: %s"
          % (len(rounds), len(used), len(digests), " ".join(sorted(used))))


def timeout(signum, frame):
    raise Failure("no end after %d s" % ROUND_TIMEOUT)


def main():
    parser = argparse.ArgumentParser(description="test libblkhash at random")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--seed", default=os.environ.get("BLKHASH_SEED"))
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS", DEFAULT_ROUNDS)))
    parser.add_argument("--only", type=int, metavar="ROUND")
    parser.add_argument("--digest", help="this one only")
    args = parser.parse_args()
    seed = args.seed or os.urandom(4).hex()
    print("seed: %s" % seed, flush=True)
    signal.signal(signal.SIGALRM, timeout)
    driver = Driver(args.driver)
    rounds = range(args.rounds) if args.only is None else [args.only]
    try:
        run_rounds(driver, seed, rounds, args.digest)
    except Failure as failure:
        driver.process.kill()
        driver.process.wait()
        skipped = len(driver.transcript) - TRANSCRIPT_TAIL
        if skipped > 0:
            print("... %d operations before" % skipped, file=sys.stderr)
        for line in driver.transcript[-TRANSCRIPT_TAIL:]:
            print(line, file=sys.stderr)
        print("FAIL: seed %s, %s" % (seed, failure), file=sys.stderr)
        print("Run it again: BLKHASH_SEED=%s %s --driver %s"
              % (seed, sys.argv[0], args.driver), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

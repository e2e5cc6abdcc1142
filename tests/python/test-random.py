#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random sequences of calls of the Python module are compared with
reference.py, refmanifest.py, and with C, by blksum and blkhash.

Each round makes an image, and gives it to a Hash in pieces, in all kinds of
buffers; to a Leaves in any order, where parts are rewritten, from one thread
or several.  After each step the table must report as missing what it must
miss, and nothing else (class Model of ../lib/test-random.py, whose images
these are).  Its manifest must be that of refmanifest.py and of blksum; and its
iterators must give the leaves, and the differences from an image that was
changed.

    test-random.py [--seed S] [--rounds N] [--only ROUND]

The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import argparse
import array
import importlib.util
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import threading

import blkhash
import reference
import refmanifest

spec = importlib.util.spec_from_file_location(
    "calls_of_c", os.path.join(os.path.dirname(__file__), "..", "lib",
                               "test-random.py"))
calls_of_c = importlib.util.module_from_spec(spec)
spec.loader.exec_module(calls_of_c)
Failure, expect = calls_of_c.Failure, calls_of_c.expect

DIGESTS = ["sha256"] * 6 + ["sha1", "sha512", "sha3-256", "blake2b512", "null"]
SMALL = 1 << 17                 # bytes of the body, for quick rounds


def random_buffer(rng, data):
    """DATA in an object of any type that has a buffer."""
    kind = rng.randrange(7)
    if kind == 0:
        return bytearray(data)
    if kind == 1:
        return memoryview(b"x" + data + b"y")[1:-1]
    if kind == 2 and data:
        with tempfile.TemporaryFile() as f:
            f.write(data)
            f.flush()
            return mmap.mmap(f.fileno(), len(data), prot=mmap.PROT_READ)
    if kind == 3 and len(data) % 8 == 0:
        return array.array("Q", data)
    if kind == 4 and len(data) % 6 == 0 and data:
        return memoryview(data).cast("B", (2, 3, len(data) // 6))
    return bytes(data)


class Round:
    def __init__(self, rng, directory):
        self.rng, self.directory = rng, directory
        self.digest = rng.choice(DIGESTS)
        self.bs = 1 << rng.choice([2, 3, 6, 9, 9, 12, 12, 13, 16, 20])
        self.streams = rng.choice([0, 0, 0, 1, 3, 64, calls_of_c.LINEAR])
        how = "" if not self.streams else "/linear" \
            if self.streams == calls_of_c.LINEAR else "/s%d" % self.streams
        self.linear = how == "/linear"
        self.nr_streams = 0 if self.linear else self.streams
        self.spec = refmanifest.tag(self.digest, self.bs, self.nr_streams,
                                    self.linear)[len("blk-"):]
        self.image = calls_of_c.Image(rng, self.digest, self.bs)
        if len(self.image.body) > SMALL:
            del self.image.body[SMALL // self.bs * self.bs:]
            self.image.trail -= self.image.trail % self.bs
            self.image.size = (self.image.lead + len(self.image.body) +
                               self.image.trail)

    def arguments(self):
        return [self.digest, self.bs, self.nr_streams, self.linear]

    def segments(self):
        return [self.image.lead, bytes(self.image.body), self.image.trail]

    def sum(self):
        return reference.blkhash(self.segments(), *self.arguments())

    # ---- Hash ----

    def test_hash(self):
        h = blkhash.new(self.rng.choice(["", "blk-"]) + self.spec,
                        threads=self.rng.choice([None, 1, 2, 5]))
        expect("name", self.spec, h.name)
        expect("tag", "blk-" + self.spec, h.tag())
        for operation in calls_of_c.stream_operations(self.rng, self.image, 0):
            kind, *numbers = operation.split()
            if kind == "zero":
                h.zero(int(numbers[0]))
            elif kind == "update":
                at, n = map(int, numbers)
                h.update(random_buffer(self.rng, self.image.body[at:at + n]))
        expected = self.sum()
        expect("hexdigest", expected, h.hexdigest())
        expect("digest", expected, h.digest().hex())
        expect("digest_size", len(expected) // 2, h.digest_size)

    # ---- Leaves ----

    def put(self, kind, start, end):
        """Give [start, end) of the body."""
        offset, data = start + self.image.lead, self.image.body[start:end]
        if kind == "zero":
            self.table.zero(offset, end - start)
        elif kind == "leaves":
            self.table.put_leaves(offset, random_buffer(self.rng, b"".join(
                refmanifest.zero_leaf(self.digest, len(data[i:i + self.bs]))
                if not any(data[i:i + self.bs])
                else self.leaf(data[i:i + self.bs])
                for i in range(0, len(data), self.bs))))
        else:
            self.table.put(offset, random_buffer(self.rng, data))

    def leaf(self, block):
        d = reference.new(self.digest)
        d.update(block)
        return d.digest()

    def kind(self, start, end):
        """How [start, end) can be given, with the content that it has."""
        kinds = ["data"]
        if not self.model.is_data(start, end):
            kinds.append("zero")
        whole = end == len(self.image.body) and not self.image.trail
        if self.digest != "null" and start % self.bs == 0 and \
                (end % self.bs == 0 or whole) and end - start < 100 * self.bs:
            kinds += ["leaves"] * 3
        return self.rng.choice(kinds)

    def missing(self):
        return [(start, start + length)
                for start, length in self.table.missing()]

    def random_range(self):
        size = len(self.image.body)
        n = calls_of_c.random_piece(self.rng, self.bs, size)
        start = self.rng.randint(0, size - n)
        if self.rng.random() < 0.5:
            start -= start % self.bs
            n = min(n + -n % self.bs, size - start)
        return start, start + n

    def rewrite(self):
        for _ in range(self.rng.randint(1, 12)):
            start, end = self.random_range()
            new = self.rng.random() < 0.5
            data = calls_of_c.random_content(self.rng, end - start) if new \
                else self.image.body[start:end]
            before = self.image.body[start:end]
            self.image.body[start:end] = data
            kind = self.kind(start, end)
            self.image.body[start:end] = before
            self.model.apply("data", start, end, data)
            self.put(kind, start, end)

    def complete(self):
        """Give what is missing, in several threads."""
        operations = []
        for start, end in self.missing():
            start, end = start - self.image.lead, end - self.image.lead
            while start < end:
                n = max(calls_of_c.random_piece(self.rng, self.bs, end - start),
                        min(end - start, len(self.image.body) // 50))
                kind = self.kind(start, start + n)
                operations.append((kind, start, start + n))
                start += n
        self.rng.shuffle(operations)
        failures = []

        def put_all(mine):
            try:
                for operation in mine:
                    self.put(*operation)
            except Exception as e:
                failures.append(e)

        n = self.rng.randint(1, 4)
        threads = [threading.Thread(target=put_all, args=(operations[i::n],))
                   for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect("exceptions", [], failures)
        expect("missing when all was given", [], self.missing())

    def test_leaves(self):
        self.table = blkhash.Leaves(self.spec, self.image.size)
        self.model = calls_of_c.Model(self.image)
        end = self.image.lead + len(self.image.body)
        self.table.zero(end, self.image.trail)
        self.table.zero(0, self.image.lead)
        for _ in range(self.rng.randrange(4)):
            if self.image.body:
                self.rewrite()
            missing = self.missing()
            self.model.observe(missing)
            if missing:
                try:
                    self.table.sum()
                    raise Failure("a sum of a table that is not complete")
                except blkhash.IncompleteError as e:
                    expect("what is missing", missing[0][0], e.start)
            else:
                expect("sum", self.sum(), self.table.sum().hex())
        self.complete()
        expect("sum", self.sum(), self.table.sum().hex())
        self.test_manifest()
        self.table.close()

    # ---- Manifest ----

    def test_manifest(self):
        expected = refmanifest.write(self.segments(), *self.arguments())
        path = os.path.join(self.directory, "disk.blkm")
        expect("the digest of write_manifest", self.sum(),
               self.table.write_manifest(path).hex())
        with open(path, "rb") as f:
            expect("the manifest", expected, f.read())
        m = blkhash.Manifest(path, verify=self.rng.random() < 0.7)
        expect("sum", self.sum(), getattr(m, "sum", b"").hex() or self.sum())
        expect("spec and size", (self.spec, self.image.size), (m.spec, m.size))
        leaves, at = [], 0
        for leaf, count in refmanifest.leaves(self.segments(), self.digest,
                                              self.bs):
            length = min(count * self.bs, self.image.size - at)
            if leaf is None and leaves and leaves[-1][2] is None:
                leaves[-1] = leaves[-1][0], leaves[-1][1] + length, None
            else:
                leaves.append((at, length, leaf))
            at += length
        expect("leaves", leaves, list(m.leaves()))
        self.test_c(expected)
        if self.image.lead == self.image.trail == 0 and self.digest != "null":
            self.test_differences(m)

    def test_differences(self, m):
        """Differences from an image with other content and another size."""
        mine, other = bytes(self.image.body), bytearray(self.image.body)
        for _ in range(self.rng.randrange(5)):
            if other:
                at = self.rng.randrange(len(other))
                other[at] = self.rng.choice([0, 1, other[at]])
        size = self.rng.choice([len(mine), self.rng.randint(0, len(mine)),
                                len(mine) + self.rng.randint(0, 3 * self.bs)])
        other = bytes(other[:size].ljust(size, self.rng.choice([b"\0", b"x"])))
        path = os.path.join(self.directory, "other.blkm")
        with open(path, "wb") as f:
            f.write(refmanifest.write(other, *self.arguments()))
        ranges, unknown = refmanifest.diff(mine, other, self.bs)
        got, was_unknown = [], False
        iterator = m.differences(blkhash.Manifest(path))
        try:
            for start, length in iterator:
                got.append([start, length])
        except blkhash.UnknownDifference as e:
            was_unknown = True
            at = min(len(mine), len(other)) // self.bs * self.bs
            expect("the block that is unknown",
                   (at, min(self.bs, max(len(mine), len(other)) - at)),
                   (e.start, e.length))
        expect("differences", (ranges, unknown), (got, was_unknown))

    # ---- C ----

    def test_c(self, expected):
        """blksum writes the same manifest, and prints the same sum."""
        path = os.path.join(self.directory, "disk.raw")
        manifest = os.path.join(self.directory, "c.blkm")
        with open(path, "wb") as f:
            f.seek(self.image.lead)
            f.write(self.image.body)
            f.truncate(self.image.size)
        row = json.loads(subprocess.run(
            ["blksum", "--output=json", "-f", "raw", "-d", self.spec,
             "--manifest", manifest, path],
            check=True, stdout=subprocess.PIPE).stdout)
        expect("blksum", "blk-%s:%s" % (self.spec, self.sum()), row["sum"])
        with open(manifest, "rb") as f:
            expect("blksum --manifest", expected, f.read())
        if self.digest != "null":       # whose sum has no digits
            expect("parse_sum", (self.spec, bytes.fromhex(self.sum()), None),
                   blkhash.parse_sum(row["sum"]))
        os.unlink(manifest)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get(
        "BLKHASH_SEED", random.randrange(2**32))))
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("BLKHASH_ROUNDS", 100)))
    parser.add_argument("--only", type=int)
    args = parser.parse_args()
    print("BLKHASH_SEED=%d, %d rounds" % (args.seed, args.rounds), flush=True)
    rounds = range(args.rounds) if args.only is None else [args.only]
    for number in rounds:
        rng = random.Random("%d-%d" % (args.seed, number))
        with tempfile.TemporaryDirectory() as directory:
            test = Round(rng, directory)
            try:
                test.test_hash()
                test.test_leaves()
            except Exception:
                print("FAIL: round %d of seed %d: %s, %d bytes"
                      % (number, args.seed, test.spec, test.image.size),
                      flush=True)
                raise


if __name__ == "__main__":
    sys.exit(main())

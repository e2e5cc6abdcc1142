#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Manifests, written and read independently as a reference.

Written from blkhash-manifest(5); it shares no code with the library.  Digests
and the construction are those of reference.py.

As a module:   refmanifest.write(image, digest, block_size, streams, linear)
               refmanifest.part(image, first, count, ...)
               refmanifest.read(manifest)
               refmanifest.diff(image, image, block_size)
               refmanifest.changes(size, ranges)
As a command:  refmanifest.py write [-d NAME] [-b SIZE] [-s STREAMS|--linear]
                                    [--part I/N] [--plan FILE] [FILE|-]
                                  the manifest, or that of a part, on stdout;
                                  FILE is the plan of which the part is
               refmanifest.py read [FILE|-]    its records as text, or status 1

Text is one line for each run: "FIRST zero COUNT", or "FIRST data LEAF..." for
data, and at the end "sum HEX", which a part does not have.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import struct
import sys

import reference

END = 2**64 - 1
ZERO = 1 << 63
MOST = 65536                    # leaves in a record
# Digests for which data with the digest of zeros is easy to make, or that are
# constant.
NOT_CRYPTOGRAPHIC = "xxh64", "xxh3-128", "null"


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC_TABLE = list(crc_table())


@functools.lru_cache(maxsize=64)  # a manifest that was written is often read
def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def tag(digest, block_size, streams, linear):
    unit = "m" if block_size % 2**20 == 0 else \
        "k" if block_size % 2**10 == 0 else ""
    number = block_size // {"m": 2**20, "k": 2**10, "": 1}[unit]
    return "blk-%s/%d%s%s" % (digest, number, unit,
                              "/s%d" % streams if streams else
                              "/linear" if linear else "")


def header(made, size, first, count, plan=None):
    text = "blkhash-manifest 1\nsum: %s\nsize: %d\nblocks: %d:%d\n" % (
        made, size, first, count)
    if plan is not None:
        text += "plan: %s\n" % hashlib.sha256(plan).hexdigest()
    return text.encode().ljust(512, b"\0")


def record(first, count, content, before=b""):
    head = struct.pack("<QQ", first, count) + content
    return head + struct.pack("<II", crc32c(before + head), 0)


def end(head, blocks, md):
    return record(END, blocks, md, head)


@functools.cache
def zero_leaf(digest, size):
    """The leaf of a block of SIZE zeros."""
    d = reference.new(digest)
    d.update(bytes(size))
    return d.digest()


# ---- Writing --------------------------------------------------------------


def leaves(image, digest, block_size):
    """Yields (None, count) for blocks of zeros, and (leaf, 1) for data."""
    for block, count in reference.cut(image, block_size):
        if block is None or not any(block):
            yield None, count
        else:
            d = reference.new(digest)
            d.update(block)
            yield d.digest(), 1


def runs(pairs):
    """Join consecutive (None, count), and leaves to records of data."""
    zeros, data, first = 0, [], 0
    for leaf, count in pairs:
        if data and (leaf is None or len(data) == MOST):
            yield first, data
            first, data = first + len(data), []
        if zeros and leaf is not None:
            yield first, zeros
            first, zeros = first + zeros, 0
        if leaf is None:
            zeros += count
        else:
            data.append(leaf)
    if zeros or data:
        yield first, zeros or data


def write(image, digest="sha256", block_size=65536, streams=0, linear=False,
          plan=None):
    """The manifest of IMAGE, which is bytes or a list of segments, as for
    reference.blkhash.  PLAN is the text of the plan of a part."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        image = [image]
    image = list(image)
    size = sum(s if isinstance(s, int) else len(s) for s in image)
    blocks = -(-size // block_size)
    md = reference.blkhash(image, digest, block_size, streams, linear)
    parts = [header(tag(digest, block_size, streams, linear), size, 0, blocks,
                    plan)]
    for first, run in runs(leaves(image, digest, block_size)):
        if isinstance(run, int):
            parts.append(record(first, run | ZERO, b""))
        else:
            parts.append(record(first, len(run), b"".join(run)))
    parts.append(end(parts[0], blocks, bytes.fromhex(md)))
    return b"".join(parts)


def cut(pairs, first, end):
    """Of pairs as leaves() yields them, from block 0 on, those of the blocks
    FIRST to END - 1."""
    at = 0
    for leaf, count in pairs:
        low, high = max(at, first), min(at + count, end)
        if low < high:
            yield leaf, high - low
        at += count


def part(image, first, count, digest="sha256", block_size=65536, streams=0,
         linear=False, plan=None):
    """The manifest of COUNT blocks of IMAGE, from FIRST on."""
    image = [image] if isinstance(image, (bytes, bytearray)) else list(image)
    size = sum(s if isinstance(s, int) else len(s) for s in image)
    if (first, count) == (0, -(-size // block_size)):
        return write(image, digest, block_size, streams, linear, plan)
    parts = [header(tag(digest, block_size, streams, linear), size, first,
                    count, plan)]
    for at, run in runs(cut(leaves(image, digest, block_size), first,
                            first + count)):
        zeros = isinstance(run, int)
        parts.append(record(first + at, run | ZERO if zeros else len(run),
                            b"" if zeros else b"".join(run)))
    parts.append(end(parts[0], count, b""))
    return b"".join(parts)


def part_blocks(size, block_size, i, n):
    """First block and number of blocks of part I of N, by blksum(1)."""
    unit = 2**30 if size >= n * 2**30 else block_size
    units, blocks = -(-size // unit), -(-size // block_size)
    first, last = (min(k * units // n * unit // block_size, blocks)
                   for k in (i, i + 1))
    return first, last - first


# ---- Reading --------------------------------------------------------------


class Wrong(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Wrong(why)


NUMBER = "(0|[1-9][0-9]*)"


class Manifest:
    """A manifest, or Wrong.  runs are (first, count, leaves or None)."""

    def __init__(self, data):
        self.data, self.at = data, 512
        self.read_header()
        self.runs, self.n = [], self.first
        while not self.read_record():
            pass
        need(self.at == len(data), "something behind it")

    def read_header(self):
        text = self.data[:512]
        need(len(text) == 512, "too short")
        text = text.rstrip(b"\0")
        need(re.fullmatch(b"[\n -~]*\n", text), "no text")
        lines = text.decode().split("\n")[:-1]
        need(lines[0] == "blkhash-manifest 1", "not a manifest")
        keys = {}
        for line in lines[1:]:
            key, colon, value = line.partition(": ")
            need(colon and not key.startswith("!"), "a line")
            need(key not in keys or key not in ("sum", "size", "blocks"),
                 "twice")
            keys[key] = value
        need({"sum", "size", "blocks"} <= set(keys), "a key is missing")
        self.parse_sum(keys["sum"])
        need(re.fullmatch(NUMBER, keys["size"]), "the size")
        self.size = int(keys["size"])
        need(self.size < 2**64 - 1, "the size")
        numbers = re.fullmatch(NUMBER + ":" + NUMBER, keys["blocks"])
        need(numbers, "the blocks")
        self.first, self.count = map(int, numbers.groups())
        self.blocks = -(-self.size // self.block_size)
        need(self.first + self.count <= self.blocks, "the blocks")

    def parse_sum(self, text):
        parts = re.fullmatch("blk-([^/]*)/([0-9]+)([km]?)(/s([0-9]+)|/linear)?",
                             text)
        need(parts, "the sum")
        self.digest, number, unit, how, streams = parts.groups()
        self.block_size = int(number) << {"": 0, "k": 10, "m": 20}[unit]
        self.streams, self.linear = int(streams or 0), how == "/linear"
        need(self.streams <= 1024 and
             self.block_size in [1 << n for n in range(2, 25)] and
             text == tag(self.digest, self.block_size, self.streams,
                         self.linear), "the sum")
        try:
            self.leaf_size = len(reference.new(self.digest).digest())
        except ValueError as e:
            raise Wrong(str(e)) from e

    def take(self, size):
        data = self.data[self.at:self.at + size]
        need(len(data) == size, "cut off")
        self.at += size
        return data

    def take_rest(self, head, size, before=b""):
        content = self.take(size)
        crc, zero = struct.unpack("<II", self.take(8))
        need(crc == crc32c(before + head + content) and zero == 0, "the CRC")
        return content

    def read_record(self):
        head = self.take(16)
        first, count = struct.unpack("<QQ", head)
        if first == END:
            self.read_end(head, count)
            return True
        zero, count = count & ZERO, count & ~ZERO
        need(first == self.n and 0 < count, "not in order")
        need(first + count <= self.first + self.count, "too many blocks")
        need(zero or count <= MOST, "too many leaves")
        if self.runs:
            _, count_before, before = self.runs[-1]
            need(before is not None if zero else
                 before is None or count_before == MOST, "not canonical")
        n = self.leaf_size
        content = self.take_rest(head, 0 if zero else count * n)
        data = None if zero else [content[i * n:(i + 1) * n]
                                  for i in range(count)]
        need(zero or self.digest in NOT_CRYPTOGRAPHIC or
             not any(leaf == self.zero_leaf(first + i)
                     for i, leaf in enumerate(data)), "zeros as data")
        self.n += count
        self.runs.append((first, count, data))
        return False

    def zero_leaf(self, block):
        """The leaf of block number BLOCK, if it is zeros."""
        return zero_leaf(self.digest, min(self.block_size, self.size -
                                          block * self.block_size))

    def read_end(self, head, count):
        need(self.n == self.first + self.count == self.first + count,
             "blocks are missing")
        complete = self.count == self.blocks
        self.md = self.take_rest(head, self.leaf_size if complete else 0,
                                 self.data[:512])
        if complete:
            need(self.md == self.compute(), "the sum")

    def compute(self):
        """The sum, computed from the leaves."""
        def H(message):
            d = reference.new(self.digest)
            d.update(message)
            return d.digest()

        full = self.size // self.block_size
        outer = [reference.new(self.digest)
                 for _ in range(self.streams or 1)]
        for first, count, data in self.runs:
            if data is None and self.streams == 0:
                whole = min(count, full - first)
                if whole:
                    reference.update_repeated(outer[0], self.zero_leaf(first),
                                              whole)
                if count > whole:
                    outer[0].update(self.zero_leaf(full))
                continue
            for i in range(count):
                leaf = data[i] if data is not None else \
                    self.zero_leaf(first + i)
                outer[(first + i) % len(outer)].update(leaf)
        if self.streams:
            return H(b"".join(d.digest() for d in outer))
        if not self.linear:
            outer[0].update(struct.pack("<Q", self.size))
        return outer[0].digest()

    def lines(self):
        for first, count, data in self.runs:
            if data is None:
                yield "%d zero %d" % (first, count)
            else:
                yield "%d data %s" % (first,
                                      " ".join(leaf.hex() for leaf in data))
        if self.count == self.blocks:
            yield "sum " + self.md.hex()


def read(data):
    return Manifest(bytes(data))


# ---- Comparing -------------------------------------------------------------


def diff(a, b, block_size):
    """Where the images A and B, bytes, differ according to their manifests: the
    ranges [start, length] of blocks, and whether the manifests do not show it
    for the block in which the shorter one ends."""
    a, b = sorted((a, b), key=len)
    padded = a.ljust(len(b), b"\0")
    ranges, unknown = [], False
    for start in range(0, len(b), block_size):
        x = padded[start:start + block_size]
        y = b[start:start + block_size]
        if start < len(a) < min(start + block_size, len(b)) and \
                any(x) and any(y):
            unknown = True
        elif x != y:
            if ranges and sum(ranges[-1]) == start:
                ranges[-1][1] += len(y)
            else:
                ranges.append([start, len(y)])
    return ranges, unknown


# ---- The command ----------------------------------------------------------


def changes(size, ranges):
    """The JSON of blkhash compare, for images of SIZE bytes that differ in
    RANGES, pairs of start and length: a list for blkhash update."""
    return json.dumps({
        "ranges": [{"start": start, "length": length, "result": "differs"}
                   for start, length in ranges],
        "images": [], "compared-bytes": size,
        "result": "differs" if ranges else "ok"})


def main():
    parser = argparse.ArgumentParser(description="the reference of manifests")
    parser.add_argument("command", choices=("write", "read"))
    parser.add_argument("-d", "--digest", default="sha256")
    parser.add_argument("-b", "--block-size", type=reference.size_argument,
                        default=65536, help="takes k, m, g")
    parser.add_argument("-s", "--streams", type=int, default=0)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--part", metavar="I/N")
    parser.add_argument("--plan", type=argparse.FileType("rb"))
    parser.add_argument("file", nargs="?", default="-")
    args = parser.parse_intermixed_args()
    fd = 0 if args.file == "-" else os.open(args.file, os.O_RDONLY)
    if args.part:
        i, n = map(int, args.part.split("/"))
        image = list(reference.file_segments(fd))
        size = sum(s if isinstance(s, int) else len(s) for s in image)
        first, count = part_blocks(size, args.block_size, i, n)
        sys.stdout.buffer.write(part(image, first, count, args.digest,
                                     args.block_size, args.streams,
                                     args.linear,
                                     args.plan and args.plan.read()))
        return 0
    if args.command == "write":
        sys.stdout.buffer.write(write(reference.file_segments(fd), args.digest,
                                      args.block_size, args.streams,
                                      args.linear))
        return 0
    try:
        manifest = read(b"".join(reference.read_to(fd, None)))
    except Wrong as e:
        print("refmanifest.py: %s: %s" % (args.file, e), file=sys.stderr)
        return 1
    for line in manifest.lines():
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds where two images differ: an independent reference for blkhash compare.

Leaves of images and manifests come from refmanifest.py; it shares no code with
the library.  Beyond the end of the shorter image there are zeros.

As a command:  refcompare.py [-d DIGEST[/SIZE]] [--size N] [--part I/N] A B
where A and B are files or manifest:FILE: prints the ranges of blocks that
differ, as blkhash compare --output=json does, but without "images".
"""

import argparse
import json
import os
import sys

import reference
import refmanifest


def segments(name):
    """The segments of a file, as in reference.py, and its length."""
    fd = os.open(name, os.O_RDONLY)
    try:
        found = list(reference.file_segments(fd))
    finally:
        os.close(fd)
    return found, sum(s if isinstance(s, int) else len(s) for s in found)


def first(image, size):
    """The first SIZE bytes of IMAGE, padded with zeros."""
    for segment in image:
        length = segment if isinstance(segment, int) else len(segment)
        if length > size:
            segment = size if isinstance(segment, int) else segment[:size]
            length = size
        size -= length
        yield segment
    if size:
        yield size


class Image:
    """Runs are (leaf or None, count).  In a manifest the last block has its own
    length; the zeros beyond the end begin after it."""

    def __init__(self, operand):
        name = operand.removeprefix("manifest:")
        if name == operand:
            self.segments, self.size = segments(name)
            self.manifest = None
        else:
            with open(name, "rb") as file:
                self.manifest = refmanifest.read(file.read())
            self.size = self.manifest.size

    def runs(self, size, digest, block_size):
        if not self.manifest:
            yield from refmanifest.leaves(first(self.segments, size), digest,
                                          block_size)
            return
        for _, count, data in self.manifest.runs:
            if data is None:
                yield None, count
            else:
                yield from ((leaf, 1) for leaf in data)
        yield None, -(-size // block_size) - self.manifest.blocks


def differences(a, b):
    """Pairs of block and count where two lists of runs differ."""
    a, b = iter(a), iter(b)
    index, of_a, of_b = 0, 0, 0
    while True:
        while of_a == 0:
            leaf_a, of_a = next(a, (None, -1))
        while of_b == 0:
            leaf_b, of_b = next(b, (None, -1))
        if of_a < 0 or of_b < 0:
            return
        count = min(of_a, of_b)
        if leaf_a != leaf_b:
            yield index, count
        index, of_a, of_b = index + count, of_a - count, of_b - count


def compare(a, b, size, digest, block_size, limit):
    """The ranges that differ between the two offsets of LIMIT."""
    ranges = []
    for index, count in differences(a.runs(size, digest, block_size),
                                    b.runs(size, digest, block_size)):
        start = max(index * block_size, limit[0])
        length = min((index + count) * block_size, limit[1]) - start
        if length <= 0:
            continue
        if ranges and ranges[-1][0] + ranges[-1][1] == start:
            ranges[-1] = ranges[-1][0], ranges[-1][1] + length
        else:
            ranges.append((start, length))
    return [{"start": start, "length": length, "result": "differs"}
            for start, length in ranges]


def main():
    parser = argparse.ArgumentParser(description="the reference of compare")
    parser.add_argument("-d", "--digest", default="sha256", metavar="SPEC")
    parser.add_argument("--size", type=reference.size_argument)
    parser.add_argument("--part", metavar="I/N")
    parser.add_argument("a")
    parser.add_argument("b")
    args = parser.parse_args()
    digest, block_size = (args.digest.split("/") + ["64k"])[:2]
    block_size = reference.size_argument(block_size)
    a, b = Image(args.a), Image(args.b)
    size = max(a.size, b.size) if args.size is None else args.size
    limit = 0, size
    if args.part:
        blocks = refmanifest.part_blocks(size, block_size,
                                         *map(int, args.part.split("/")))
        limit = [min(block * block_size, size)
                 for block in (blocks[0], sum(blocks))]
    found = compare(a, b, size, digest, block_size, limit)
    print(json.dumps({
        "ranges": found, **({"part": args.part} if args.part else {}),
        "compared-bytes": limit[1] - limit[0],
        "result": "differs" if found else "ok"}, separators=(",", ":")))


if __name__ == "__main__":
    sys.exit(main())

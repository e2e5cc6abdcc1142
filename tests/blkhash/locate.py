#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One disk of 6 GiB in several places: manifests show where it differs.

Each place is a directory with the disk in another format.  The manifests that
are made in all places are equal, byte for byte.  Then, in each round, one byte
of the disk in one place is changed: its manifest and that of another place
differ in one block, the one that contains the byte.  At the end, with all bytes
restored, all manifests are equal again.

    locate.py --dir DIR [--seed S] [--rounds N]

The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.  For another way to make a manifest, add a class like Raw and Qcow2.
"""

import argparse
import json
import os
import random
import subprocess
import sys

import refmanifest
from diskimages import GIB, KIB, MIB, random_segments, write_file

SIZE = 6 * GIB
KINDS = (("sha256", 64 * KIB), ("md5", 4 * KIB), ("sha512", MIB))


class Failure(Exception):
    pass


def expect(what, expected, got):
    if expected != got:
        raise Failure("%s:\n  expected %.300r\n  got      %.300r"
                      % (what, expected, got))


class Place:
    """A directory with the disk, as the file NAME."""

    def __init__(self, parent, segments):
        self.dir = os.path.join(parent, type(self).__name__.lower())
        self.disk = os.path.join(self.dir, self.NAME)
        os.mkdir(self.dir)
        self.make(segments)

    def manifest(self, digest, block_size):
        """Makes a manifest, and returns its path."""
        subprocess.run(["blksum", "-d", digest, "-b", str(block_size),
                        "--manifest", "disk.blkm", self.NAME], cwd=self.dir,
                       check=True, stdout=subprocess.DEVNULL)
        return os.path.join(self.dir, "disk.blkm")


class Raw(Place):
    NAME = "disk.raw"

    def make(self, segments):
        write_file(self.disk, segments, SIZE)

    def write_byte(self, offset, value):
        with open(self.disk, "r+b") as f:
            f.seek(offset)
            f.write(bytes([value]))


class Qcow2(Place):
    NAME = "image.qcow2"

    def make(self, segments):
        raw = self.disk + ".raw"
        write_file(raw, segments, SIZE)
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2",
                        raw, self.disk], check=True)
        os.unlink(raw)

    def write_byte(self, offset, value):
        subprocess.run(["qemu-io", "-f", "qcow2", "-c", "write -P %d %d 1"
                        % (value, offset), self.disk], check=True,
                       stdout=subprocess.DEVNULL)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def byte_at(segments, offset):
    for segment in segments:
        length = segment if isinstance(segment, int) else len(segment)
        if offset < length:
            return 0 if isinstance(segment, int) else segment[offset]
        offset -= length
    raise IndexError


def offsets(rng, segments, rounds):
    """Both ends, block borders, and other offsets; in data, and in holes."""
    border = rng.randrange(1, SIZE // MIB) * MIB
    yield from (0, SIZE - 1, border, border - 1)
    data, at = [], 0
    for segment in segments:
        if isinstance(segment, int):
            at += segment
        else:
            data.append((at, at + len(segment)))
            at += len(segment)
    for i in range(rounds):
        if i % 2:
            yield rng.randrange(SIZE)
        else:
            yield rng.randrange(*rng.choice(data))


def compare(a, b):
    """Exit status and ranges."""
    done = subprocess.run(["blkhash", "compare", "--output=json",
                           "manifest:" + a, "manifest:" + b], text=True,
                          stdout=subprocess.PIPE, check=False)
    return done.returncode, [(r["start"], r["length"])
                             for r in json.loads(done.stdout)["ranges"]]


def check_equal(places, segments):
    """All manifests of the disk are equal, for all hash parameters."""
    for digest, block_size in KINDS:
        expected = refmanifest.write(segments, digest, block_size)
        paths = [place.manifest(digest, block_size) for place in places]
        for path in paths:
            expect(path, expected, read(path))
        expect("compare", (0, []), compare(paths[0], paths[-1]))


def check_located(rng, places, segments, offset):
    digest, block_size = rng.choice(KINDS)
    damaged, other = rng.sample(places, 2)
    value = byte_at(segments, offset)
    damaged.write_byte(offset, value ^ 1 << rng.randrange(8))
    paths = [damaged.manifest(digest, block_size),
             other.manifest(digest, block_size)]
    rng.shuffle(paths)
    start = offset // block_size * block_size
    expect("byte %d of %s changed, compare %s" % (offset, damaged.disk, paths),
           (1, [(start, block_size)]), compare(*paths))
    damaged.write_byte(offset, value)


def main():
    parser = argparse.ArgumentParser(description="where do disks differ?")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", default=os.environ.get("BLKHASH_SEED")
                        or os.urandom(4).hex())
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS") or 12))
    args = parser.parse_args()
    print("seed: %s" % args.seed, flush=True)
    rng = random.Random(args.seed)
    segments = random_segments(rng, SIZE)
    places = [kind(args.dir, segments) for kind in (Raw, Qcow2)]
    try:
        check_equal(places, segments)
        for offset in offsets(rng, segments, args.rounds):
            check_located(rng, places, segments, offset)
        check_equal(places, segments)
    except Failure as e:
        print("FAIL: seed %s, %s" % (args.seed, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by test-manifest.py and test-manifest-diff.py: manifest-driver, random
images, and a manifest to compose incorrectly.
"""

import argparse
import os
import random
import resource
import shlex
import subprocess

import reference
import refmanifest
from refmanifest import ZERO, record, end

DIGESTS = ["sha256", "sha512", "md5", "sha1", "blake2b512", "null"]
MEMORY = 256 << 20              # of a driver that reads crafted manifests


class Failed(Exception):
    pass


def expect(what, expected, got):
    if expected != got:
        raise Failed("%s:\n  expected %.600s\n  got      %.600s"
                     % (what, expected, got))


class Driver:
    def __init__(self, args):
        self.command = shlex.split(os.environ.get("BLKHASH_DRIVER_WRAPPER",
                                                  "")) + [args.driver]
        self.dir = args.dir
        self.limit_memory = args.limit_memory
        # From a pipe or a file: in the short form by turns, and not for all
        # sizes.
        self.short, self.turn = args.short, False
        self.every, self.refused = args.every, 0

    def inputs(self):
        """From a pipe, or from a file: in the short form one of them.  The
        order 0, 1, 1, 0 gives both to callers that ask twice for each
        manifest."""
        self.turn += 1
        return ((self.turn ^ self.turn >> 1) & 1 != 0,) if self.short else \
            (False, True)

    def takes(self):
        """Whether to try the next manifest that must be refused."""
        self.refused += 1
        return (self.refused - 1) % self.every == 0

    def limit(self):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def run(self, args, data, from_pipe=True):
        """Returns status, output and messages.  The input is a pipe or a file,
        the output always a file."""
        out = os.path.join(self.dir, "out")
        with open(out, "w+b") as f:
            how = {"input": data}
            if self.limit_memory:
                how["preexec_fn"] = self.limit
            if not from_pipe:
                name = os.path.join(self.dir, "in")
                with open(name, "wb") as g:
                    g.write(data)
                how = {"stdin": open(name, "rb")}
            done = subprocess.run(self.command + args, stdout=f,
                                  stderr=subprocess.PIPE, check=False, **how)
            if not from_pipe:
                how["stdin"].close()
            f.seek(0)
            return done.returncode, f.read(), done.stderr.decode()

    def well(self, args, data, from_pipe=True):
        status, out, err = self.run(args, data, from_pipe)
        if status != 0 or err:
            raise Failed("%s: status %d: %s" % (args, status, err))
        return out


# ---- Images and manifests ---------------------------------------------------


def random_image(rng, block_size):
    """Runs of blocks of zeros and data, and blocks that are almost zero."""
    image = bytearray()
    for _ in range(rng.randrange(12)):
        n = rng.choice((1, 1, 2, rng.randrange(1, 50)))
        kind = rng.randrange(4)
        if kind == 0:
            image += bytes(n * block_size)
        elif kind == 1:
            image += rng.randbytes(n * block_size)
        elif kind == 2:
            image += bytes(block_size - 1) + b"\1"
        else:
            image += bytes(rng.randrange(block_size))
    if rng.random() < 0.4:
        image += rng.choice((bytes, rng.randbytes))(
            rng.randrange(1, block_size))
    return bytes(image)


class Parts:
    """The parts of a manifest, to compose incorrectly: 10 blocks of 64 bytes,
    md5; blocks 2 to 6 are zeros."""

    def __init__(self, streams=0):
        image = bytes(range(1, 129)) + bytes(320) + bytes(range(1, 181))
        self.right = refmanifest.read(
            refmanifest.write(image, "md5", 64, streams))
        self.head = self.right.data[:512]
        self.md = self.right.md
        runs = self.right.runs
        self.records = [record(first, count | (ZERO if leaves is None else 0),
                               b"".join(leaves or []))
                        for first, count, leaves in runs]
        self.end = end(self.head, 10, self.md)

    def join(self, *records, head=None, end_=None):
        return b"".join([head or self.head, *records, end_ or self.end])


def zeros_as_data(image, digest, block_size, streams=0):
    """The manifest of IMAGE, of up to 65536 blocks, with its zeros as leaves of
    data.  Everything else is right, also the sum."""
    right = refmanifest.read(refmanifest.write(image, digest, block_size,
                                               streams))
    head = right.data[:512]
    leaves = []
    for start in range(0, len(image), block_size):
        d = reference.new(digest)
        d.update(image[start:start + block_size])
        leaves.append(d.digest())
    return head + record(0, len(leaves), b"".join(leaves)) + \
        end(head, len(leaves), right.md)


def data_record(first, count):
    return record(first, count, bytes(range(16)) * count)


# ---- The command ----------------------------------------------------------


def run(tests):
    """Call TESTS (DRIVER, RNG, ROUNDS) as the options require."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--limit-memory", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("BLKHASH_SEED") or
                                    random.randrange(2**32)))
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("BLKHASH_ROUNDS") or 20))
    args = parser.parse_args()
    print("seed %d" % args.seed, flush=True)
    try:
        tests(Driver(args), random.Random(args.seed), args.rounds)
    except Failed as e:
        print("FAIL: seed %d, %s" % (args.seed, e))
        return 1
    return 0

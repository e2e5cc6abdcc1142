#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how often the audit of blkhash update detects that a list of
changes is wrong, and compares that with the formula of the manual.

    audit.py --dir DIR [--seed S] [--rounds N]

N runs for each of several numbers of changed blocks that the list does not
have.  A run that detects it exits with status 1, names one of these blocks, and
leaves no file; other runs trust the list.  The number of detections is random:
the test fails if it is so far from the expected number that this happens less
than once in 10^9 times.  The seed, which chooses the blocks that change, is
printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.
"""

import argparse
import math
import os
import random
import re
import subprocess
import sys

import refmanifest

BLOCK = 65536
BLOCKS = 1024
LISTED = range(100, 124)        # blocks in the list
SELDOM = 1e-9


class Failure(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Failure(*why)


def update(*arguments):
    return subprocess.run(["blkhash", "update", *arguments],
                          capture_output=True, text=True)


def tail(n, p, low, high):
    """The probability that LOW to HIGH of N events occur, each with probability
    P."""
    return sum(math.comb(n, k) * p**k * (1 - p)**(n - k)
               for k in range(low, high + 1))


class Update:
    def __init__(self, where):
        self.image = os.path.join(where, "image")
        self.old = os.path.join(where, "old")
        self.new = os.path.join(where, "new")
        self.list = os.path.join(where, "list")
        with open(self.list, "w") as f:
            f.write(refmanifest.changes(
                BLOCKS * BLOCK, [(LISTED[0] * BLOCK, len(LISTED) * BLOCK)]))

    def begin(self, rng):
        """Every third block is zeros; the others have little data, to keep the
        file small."""
        content = [rng.randbytes(4096) if n % 3 else b"" for n in range(BLOCKS)]
        with open(self.image, "wb") as f:
            for n, data in enumerate(content):
                f.seek(n * BLOCK)
                f.write(data)
            f.truncate(BLOCKS * BLOCK)
        with open(self.image, "rb") as f:
            self.manifest = refmanifest.write(f.read())
        with open(self.old, "wb") as f:
            f.write(self.manifest)

    def change(self, at):
        """Change a byte; a second call restores it."""
        with open(self.image, "rb+") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0xff]))

    def found(self, changed, audit):
        """Run once with CHANGED blocks; true if the audit detects that."""
        run = update("--changed", self.list, "--audit", audit, "--manifest",
                     self.new, self.old, self.image)
        if run.returncode == 0:
            with open(self.new, "rb") as f:
                need(f.read() == self.manifest, "the manifest differs")
            os.remove(self.new)
            return False
        named = re.findall(r": (\d+) bytes at (\d+) differ from .*; in no list",
                           run.stderr)
        need(run.returncode == 1 and run.stdout == "" and named, run)
        for size, at in named:
            blocks = {(int(at) + i) // BLOCK for i in range(0, int(size), BLOCK)}
            need(blocks <= set(changed) and int(at) % BLOCK == 0, run)
        need(not os.path.exists(self.new), "a manifest was written", run)
        return True


def measure(update, rng, rounds, missed, audit, count):
    """MISSED blocks change, and the audit reads COUNT of those that are
    trusted."""
    trusted = [n for n in range(BLOCKS) if n not in LISTED]
    probability = 1 - (1 - count / len(trusted))**missed
    found = 0
    for _ in range(rounds):
        changed = rng.sample(trusted, missed)
        places = [n * BLOCK + rng.randrange(BLOCK) for n in changed]
        for at in places:
            update.change(at)
        found += update.found(changed, audit)
        for at in places:
            update.change(at)
    print("--audit %s, %d of %d blocks, %d wrong: %.3f found, expected %.3f" %
          (audit, count, len(trusted), missed, found / rounds, probability))
    # At least as often: blocks that are far apart are detected slightly more
    # often.
    need(tail(rounds, probability, 0, found) > SELDOM, "detected too seldom")
    # And not much more often: for 64 blocks of 1000 the audit reads 67.
    if missed == 1:
        need(tail(rounds, min(1, 1.1 * probability), found, rounds) > SELDOM,
             "found too often")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", default=os.environ.get("BLKHASH_SEED"))
    parser.add_argument("--rounds", type=int,
                        default=os.environ.get("BLKHASH_ROUNDS") or 20)
    args = parser.parse_args()
    seed = args.seed or str(random.randrange(2**32))
    print("seed", seed, flush=True)
    rng = random.Random(seed)
    update = Update(args.dir)
    update.begin(rng)
    try:
        for missed, audit, count in ((1, "0.1%", 64), (1, "25%", 250),
                                     (4, "25%", 250), (20, "0.1%", 64)):
            measure(update, rng, args.rounds, missed, audit, count)
        measure(update, rng, 5, 1, "0%", 0)
        measure(update, rng, 5, 1, "100%", 1000)
    except Failure as failure:
        sys.exit("seed %s: %s" % (seed, failure))


main()

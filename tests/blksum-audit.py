#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often blksum --update finds that a list of what changed is wrong: as often
as the manual says.

    blksum-audit.py --dir DIR [--seed S] [--rounds N]

N runs for each of some numbers of blocks that changed and are not in the list.
Those that find it exit with 1, name one of these blocks, and leave nothing; the
others believe the list.  The number of those that find it is a random one: it
is wrong if it is further from what is expected than once in 10^9 times.  The
seed, for which blocks change, is printed; BLKHASH_SEED and BLKHASH_ROUNDS do
what the options do.
"""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the source tree

import refmanifest

BLOCK = 65536
BLOCKS = 1024
LISTED = range(100, 124)        # blocks that the list has
SELDOM = 1e-9


class Failure(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Failure(*why)


def blksum(*arguments):
    return subprocess.run(["blksum", *arguments], capture_output=True,
                          text=True)


def tail(n, p, low, high):
    """How probable LOW to HIGH of N are, if each is with P."""
    return sum(math.comb(n, k) * p**k * (1 - p)**(n - k)
               for k in range(low, high + 1))


class Update:
    def __init__(self, where):
        self.image = os.path.join(where, "image")
        self.old = os.path.join(where, "old")
        self.new = os.path.join(where, "new")
        self.list = os.path.join(where, "list")
        with open(self.list, "w") as f:
            json.dump([{"start": LISTED[0] * BLOCK,
                        "length": len(LISTED) * BLOCK}], f)

    def begin(self, rng):
        """Every third block is zeros; of the others there is little, so that
        the file is small."""
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
        """A byte, and back again the next time."""
        with open(self.image, "rb+") as f:
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 0xff]))

    def found(self, changed, audit):
        """One run, with blocks CHANGED."""
        run = blksum("--update", self.old, "--changed", self.list, "--audit",
                     audit, "--manifest", self.new, self.image)
        if run.returncode == 0:
            with open(self.new, "rb") as f:
                need(f.read() == self.manifest, "another manifest")
            os.remove(self.new)
            return False
        told = re.search(r"block (\d+) \((\d+) bytes at (\d+)\)", run.stderr)
        need(run.returncode == 1 and run.stdout == "" and told, run)
        block, size, at = map(int, told.groups())
        need(block in changed and (size, at) == (BLOCK, block * BLOCK), run)
        need(not os.path.exists(self.new), "published", run)
        return True


def measure(update, rng, rounds, missed, audit, count):
    """MISSED blocks change, and COUNT of those believed are looked at."""
    believed = [n for n in range(BLOCKS) if n not in LISTED]
    probability = 1 - (1 - count / len(believed))**missed
    found = 0
    for _ in range(rounds):
        changed = rng.sample(believed, missed)
        places = [n * BLOCK + rng.randrange(BLOCK) for n in changed]
        for at in places:
            update.change(at)
        found += update.found(changed, audit)
        for at in places:
            update.change(at)
    print("--audit %s, %d of %d blocks, %d wrong: %.3f found, expected %.3f" %
          (audit, count, len(believed), missed, found / rounds, probability))
    # At least as often: those that are apart are found a little more often.
    need(tail(rounds, probability, 0, found) > SELDOM, "found too seldom")
    # And not much more often: of 1000 blocks 67 are chosen if 64 are asked for.
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

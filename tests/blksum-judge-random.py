#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random pairs of disks with lists of changed ranges: blksum --compare
--changed prints what the list misses, and which ranges are superfluous.

    blksum-judge-random.py --dir DIR [--seed S] [--rounds N]

The expected result is found byte by byte and block by block, without any code
of blksum.  Each disk is an image or a manifest.  The seed is printed;
BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.
"""

import argparse
import json
import os
import random
import subprocess
import sys

LIMIT = 300                     # timeout in seconds, far above a passing run


class Failure(Exception):
    pass


def random_disk(rng, size):
    disk = bytearray(size)
    for _ in range(rng.randrange(4)):
        a, b = sorted(rng.randrange(size + 1) for _ in range(2))
        disk[a:b] = rng.randbytes(b - a)
    return disk


def random_changes(rng, disk):
    """Returns the changed disk, and where it was written to."""
    disk = bytearray(disk)
    written = []
    for _ in range(rng.choice((0, 1, 5, 10, 40))):
        if not disk:
            break
        start = rng.randrange(len(disk))
        length = min(rng.choice((1, 100, 5000)), len(disk) - start)
        kind = rng.random()
        if kind < 0.5:
            disk[start:start + length] = rng.randbytes(length)
        elif kind < 0.8:
            disk[start:start + length] = bytes(length)
        written.append((start, length))
    return disk, written


def random_list(rng, written, size):
    """What a tracker may print of that: rounded, incomplete, and too much."""
    ranges = []
    unit = rng.choice((1, 1, 512, 4096))
    lost = rng.choice((0, 0.1, 0.5, 0.9))
    for start, length in written:
        if rng.random() < lost:
            continue
        end = min(size, -(-(start + length) // unit) * unit)
        start -= start % unit
        ranges.append((start, end - start))
    for _ in range(rng.choice((0, 0, 2, 8))):
        if size > 0:
            start = rng.randrange(size)
            ranges.append((start, min(rng.choice((1, 600, 9000)),
                                      size - start)))
    rng.shuffle(ranges)
    return ranges


def merged(ranges):
    """Sorted; ranges that are adjacent or overlap count as one."""
    result = []
    for start, length in sorted(ranges):
        if result and start <= sum(result[-1]):
            result[-1][1] = max(result[-1][1], start + length - result[-1][0])
        else:
            result.append([start, length])
    return result


def as_objects(ranges):
    return [{"start": start, "length": length} for start, length in ranges]


def expected(before, after, ranges, block_size):
    size = len(before)
    ranges = merged(ranges)
    in_list = bytearray(size)
    for start, length in ranges:
        in_list[start:start + length] = b"\1" * length
    missed, different = [], set()
    for start in range(0, size, block_size):
        end = min(start + block_size, size)
        if before[start:end] == after[start:end]:
            continue
        different.add(start // block_size)
        if not any(in_list[start:end]):
            missed.append((start, end - start))
    superfluous = [(start, length) for start, length in ranges
                   if not any(at // block_size in different
                              for at in range(start, start + length))]
    return {"size": size, "ranges": len(ranges),
            "missed": as_objects(merged(missed)),
            "superfluous": as_objects(superfluous)}


def run(argv, statuses):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=LIMIT)
    if done.returncode not in statuses or done.stderr:
        raise Failure("%s: exit status %d: %r" %
                      (" ".join(argv), done.returncode, done.stderr))
    return done


def operand(rng, name, disk, block_size):
    with open(name, "wb") as file:
        file.write(disk)
    if rng.random() < 0.3:
        return name
    run(["blksum", "-d", "sha256", "-b", str(block_size), "--manifest",
         name + ".blkm", name], (0,))
    return "manifest:%s.blkm" % name


def run_round(rng):
    size = rng.randrange(rng.choice((2, 30000, 300000, 300000)))
    block_size = rng.choice((512, 512, 4096, 65536))
    before = random_disk(rng, size)
    after, written = random_changes(rng, before)
    ranges = random_list(rng, written, size)
    with open("list", "w") as file:
        json.dump(as_objects(ranges), file)
    argv = ["blksum", "-d", "sha256", "-b", str(block_size), "--compare",
            "--changed", "list", "--output=json",
            operand(rng, "before", before, block_size),
            operand(rng, "after", after, block_size)]
    result = expected(before, after, ranges, block_size)
    done = run(argv, (0, 1))
    if json.loads(done.stdout) != result:
        raise Failure("%s: %r, not %r" % (" ".join(argv), done.stdout, result))
    if done.returncode != (1 if result["missed"] else 0):
        raise Failure("%s: exit status %d" % (" ".join(argv), done.returncode))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("BLKHASH_SEED",
                                                   random.randrange(10**9))))
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("BLKHASH_ROUNDS", 100)))
    args = parser.parse_args()
    os.chdir(args.dir)
    print("seed %d" % args.seed, flush=True)
    missed = superfluous = 0
    for i in range(args.rounds):
        rng = random.Random("%d/%d" % (args.seed, i))
        try:
            result = run_round(rng)
        except Failure as failure:
            sys.exit("round %d: %s" % (i, failure))
        missed += bool(result["missed"])
        superfluous += bool(result["superfluous"])
    print("of %d lists %d missed something, %d had superfluous ranges" %
          (args.rounds, missed, superfluous))


main()

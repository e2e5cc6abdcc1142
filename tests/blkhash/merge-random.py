#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random parts of a random image, made by the reference, for blkhash merge:
some overlap, are missing, have no blocks, or belong to another plan.

    merge-random.py --dir DIR [--seed S] [--rounds N]

The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import argparse
import os
import random
import subprocess
import sys

import refmanifest


class Failure(Exception):
    pass


def random_image(rng, block_size):
    image = bytearray()
    for _ in range(rng.randrange(8)):
        n = rng.choice((1, 2, rng.randrange(1, 30))) * block_size
        image += bytes(n) if rng.random() < 0.5 else rng.randbytes(n)
    if rng.random() < 0.5:
        image += rng.randbytes(rng.randrange(1, block_size))
    return bytes(image)


def random_parts(rng, blocks, block_size, size):
    """(first, count) of each part; in most cases they cover all blocks."""
    if rng.random() < 0.5:
        n = rng.randrange(1, 2 * blocks + 3)
        parts = [refmanifest.part_blocks(size, block_size, i, n)
                 for i in range(n)]
    else:
        cuts = sorted({0, blocks, *(rng.randrange(blocks + 1)
                                    for _ in range(rng.randrange(6)))})
        parts = [(a, b - a) for a, b in zip(cuts, cuts[1:])] or [(0, blocks)]
    if rng.random() < 0.2 and len(parts) > 1:
        parts.pop(rng.randrange(len(parts)))
    for _ in range(rng.choice((0, 0, 0, rng.randrange(4)))):
        first = rng.randrange(blocks + 1)
        parts.append((first, rng.randrange(blocks - first + 1)))
    if rng.random() < 0.1:
        parts.append((0, blocks))
    rng.shuffle(parts)
    return parts


def gaps(times, size, block_size):
    """Yields (bytes, offset) of what is in no part.  TIMES has, for each block,
    the number of parts that have it."""
    first = None
    for i, n in enumerate(times + [1]):
        if n == 0 and first is None:
            first = i
        elif n and first is not None:
            start, end = first * block_size, min(i * block_size, size)
            yield end - start, start
            first = None


def expected(times, foreign, image, how):
    """Exit status, text of stderr, and the manifest or None."""
    if foreign:
        return 2, " is not of the plan of ", None
    if any(n > 1 for n in times):
        return 2, ": overlaps ", None
    if not all(times):
        text = "".join("blkhash: the image: %d bytes at %d are missing\n" % gap
                       for gap in gaps(times, len(image), how[1]))
        return 2, text, None
    return 0, "", refmanifest.write(image, *how)


def test(rng, directory):
    block_size = rng.choice((4, 64, 512))
    how = (rng.choice(("md5", "sha256")), block_size, *rng.choice(
        ((0, False), (0, False), (7, False), (0, True))))
    image = random_image(rng, block_size)
    times = [0] * -(-len(image) // block_size)
    parts = random_parts(rng, len(times), block_size, len(image))
    foreign = len(parts) > 1 and rng.random() < 0.2 and rng.choice(parts[1:])
    names = []
    for part in parts:
        names.append("part%d" % len(names))
        with open(os.path.join(directory, names[-1]), "wb") as f:
            f.write(refmanifest.part(
                image, *part, *how,
                plan=b"other" if part is foreign else b"plan"))
        for i in range(part[0], sum(part)):
            times[i] += 1
    status, text, manifest = expected(times, foreign, image, how)
    command = ["blkhash", "merge", *names, "--manifest", "got"]
    done = subprocess.run(command, cwd=directory, capture_output=True,
                          text=True, check=False)
    got = None
    path = os.path.join(directory, "got")
    if os.path.exists(path):
        with open(path, "rb") as f:
            got = f.read()
        os.unlink(path)
    if (done.returncode, got) != (status, manifest) or \
            (text not in done.stderr if text else done.stderr):
        raise Failure("%s in %s, %d blocks:\n  expected %d, %r\n"
                      "  got %d, %r, %s manifest" %
                      (command, how, len(times), status, text, done.returncode,
                       done.stderr, "another" if got != manifest else "that"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("BLKHASH_SEED") or
                                    random.randrange(2**32)))
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("BLKHASH_ROUNDS") or 100))
    args = parser.parse_args()
    print("seed %d" % args.seed, flush=True)
    rng = random.Random(args.seed)
    try:
        for _ in range(args.rounds):
            test(rng, args.dir)
    except Failure as e:
        print("FAIL: seed %d: %s" % (args.seed, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random parts of random images, made by the reference, for blksum --merge:
some are duplicates, overlap, are missing, have no blocks, or belong to another
image.

    blksum-merge.py --dir DIR [--seed S] [--rounds N]

The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import argparse
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the source tree

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


def change_byte(rng, image):
    """An image that differs in one block, or is the same."""
    changed = bytearray(image)
    if image and rng.random() < 0.4:
        changed[rng.randrange(len(image))] ^= 0xff
    return bytes(changed)


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
    parts += rng.choices(parts, k=rng.choice((0, 0, rng.randrange(6))))
    for _ in range(rng.choice((0, 0, rng.randrange(4)))):
        first = rng.randrange(blocks + 1)
        parts.append((first, rng.randrange(blocks - first + 1)))
    if rng.random() < 0.1:
        parts.append((0, blocks))
    rng.shuffle(parts)
    return parts


def overlap(parts):
    """True if two different parts share a block, or one without blocks is
    inside of another."""
    return any(a != b and a[1] > 0 and
               (max(a[0], b[0]) < min(sum(a), sum(b)) or
                b[1] == 0 and a[0] < b[0] < sum(a))
               for a in parts for b in parts)


def gaps(said, size, block_size):
    """Yields (bytes, offset) of what is in no part.  SAID has, for each block,
    the set of its contents in all parts."""
    first = None
    for i, contents in enumerate(said + [{None}]):
        if not contents and first is None:
            first = i
        elif contents and first is not None:
            start, end = first * block_size, min(i * block_size, size)
            yield end - start, start
            first = None


def expected(parts, said, size, block_size, how):
    """Exit status, text of stderr, and the manifest or None."""
    if overlap(parts):
        return 2, " must be made with the same N ", None
    if not all(said):
        text = "".join("blksum: got: the %d bytes at %d are in no part\n" % gap
                       for gap in gaps(said, size, block_size))
        return 2, text, None
    if any(len(contents) > 1 for contents in said):
        return 2, " differs from ", None
    image = b"".join(contents.pop() for contents in said)
    return 0, "", refmanifest.write(image, *how)


def test(rng, directory):
    block_size = rng.choice((4, 64, 512))
    how = (rng.choice(("md5", "sha256")), block_size, *rng.choice(
        ((0, False), (0, False), (7, False), (0, True))))
    image = random_image(rng, block_size)
    changed = change_byte(rng, image)
    blocks = -(-len(image) // block_size)
    said = [set() for _ in range(blocks)]
    names = []
    parts = random_parts(rng, blocks, block_size, len(image))
    for first, count in parts:
        content = rng.choice((image, changed))
        names.append("part%d" % len(names))
        with open(os.path.join(directory, names[-1]), "wb") as f:
            f.write(refmanifest.part(content, first, count, *how))
        for i in range(first, first + count):
            said[i].add(content[i * block_size:(i + 1) * block_size])
    status, text, manifest = expected(parts, said, len(image), block_size,
                                      how)
    command = ["blksum", "--merge", *names, "--manifest", "got"]
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
                      (command, how, blocks, status, text, done.returncode,
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

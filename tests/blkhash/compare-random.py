#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random pairs of images: blkhash compare finds where their bytes differ.

    compare-random.py --dir DIR [--seed S] [--rounds N] [--qemu]

Data and holes begin and end at any offset, and the images differ in holes and
size.  With --qemu each can be a qcow2.  The seed is printed; BLKHASH_SEED and
BLKHASH_ROUNDS have the effect of the options.
"""

import argparse
import json
import os
import random
import subprocess
import sys

MAX_SIZE = 12 << 20             # bytes
LIMIT = 300                     # timeout in seconds, far above a passing run


class Failure(Exception):
    pass


def random_offset(rng, size):
    unit = rng.choice((1, 512, 4096, 65536))
    return rng.randrange(size + 1) // unit * unit


def random_content(rng, size):
    """[(offset, bytes, or length of written zeros)]"""
    pieces = []
    for _ in range(rng.randrange(12)):
        a, b = sorted(random_offset(rng, size) for _ in range(2))
        pieces.append((a, b - a if rng.random() < 0.3 else rng.randbytes(b - a)))
    return pieces


def changed(rng, pieces, size):
    """The same content, with some zeros written or as holes, and sometimes a
    few other bytes."""
    pieces = list(pieces)
    if rng.random() < 0.5:
        pieces.insert(0, (0, random_offset(rng, size)))
    for _ in range(rng.choice((0, 0, 1, 3, 20))):
        at = rng.randrange(size + 1)
        more = min(rng.choice((1, 512, 70000)), size - at)
        pieces.append((at, more if rng.random() < 0.3 else rng.randbytes(more)))
    return pieces


def write_image(name, pieces, size):
    with open(name, "wb") as file:
        file.truncate(size)
        for offset, data in pieces:
            file.seek(offset)
            file.write(bytes(data) if isinstance(data, int) else data)
    with open(name, "rb") as file:
        return file.read()


def as_qcow2(rng, name):
    options = ["-c"] if rng.random() < 0.3 else []
    if rng.random() < 0.3:
        options += ["-S", "0"]
    cluster = rng.choice(("4k", "64k", "2M"))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options,
                    "-o", "cluster_size=" + cluster, name, name + ".qcow2"],
                   check=True, timeout=LIMIT)
    return name + ".qcow2"


def differences(a, b, block_size):
    size = max(len(a), len(b))
    a, b = a.ljust(size, b"\0"), b.ljust(size, b"\0")
    ranges = []
    for start in range(0, size, block_size):
        end = min(start + block_size, size)
        if a[start:end] == b[start:end]:
            continue
        if ranges and sum(ranges[-1]) == start:
            ranges[-1][1] += end - start
        else:
            ranges.append([start, end - start])
    return [{"start": start, "length": length, "result": "differs"}
            for start, length in ranges]


def check(argv, stdin, status, output, message=b""):
    """MESSAGE is in what is printed on stderr, which is empty without one."""
    done = subprocess.run(argv, stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT)
    if done.returncode != status or message not in done.stderr or \
            bool(message) != bool(done.stderr) or \
            (output is not None and json.loads(done.stdout)["ranges"] != output):
        raise Failure("%s: %d, not %d; %r, not %r; %r" %
                      (" ".join(argv), done.returncode, status, done.stdout,
                       output, done.stderr))


def random_pair(rng, args):
    """Two images, as (file, content)."""
    size = rng.choice((0, 1, 4095, 65537, rng.randrange(MAX_SIZE)))
    pieces = random_content(rng, size)
    other = changed(rng, pieces, size)
    other_size = size
    if rng.random() < 0.4:
        other_size += rng.choice((1, 511, 5000, 65536, 3 << 20))
        if rng.random() < 0.3:
            other.append((other_size - 1, b"x"))
    pair = []
    for name, what, n in ("a", pieces, size), ("b", other, other_size):
        content = write_image(name, what, n)
        if args.qemu and rng.random() < 0.4:
            name = as_qcow2(rng, name)
            content = content.ljust((n + 511) // 512 * 512, b"\0")
        pair.append((name, content))
    rng.shuffle(pair)
    return pair


def random_options(rng, block_size):
    options = ["-d", "sha256/%d" % block_size, "-t", str(rng.randrange(1, 5))]
    if rng.random() < 0.2:
        options.append("--no-extents")
    if rng.random() < 0.2:
        options.append("--strict")
    return options


def check_size(rng, argv, contents, block_size):
    """The lines about trailing data: see test-compare-size.sh."""
    size = rng.randrange(min(map(len, contents)) + 1)
    argv = [*argv, "--size", str(size)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=LIMIT)
    found = differences(*(content[:size] for content in contents), block_size)
    if json.loads(done.stdout)["ranges"] != found:
        raise Failure("%s: %r, not %r" % (" ".join(argv), done.stdout, found))


def run_round(rng, args):
    pair = random_pair(rng, args)
    names, contents = zip(*pair)
    block_size = rng.choice((512, 4096, 65536, 1 << 20))
    options = random_options(rng, block_size)
    found = differences(*contents, block_size)
    other_size = "--strict" in options and len(contents[0]) != len(contents[1])
    status = 1 if found or other_size else 0
    argv = ["blkhash", "compare", *options]
    if other_size:              # nothing is read
        check([*argv, "--output=json", *names], None, status, [], b": has ")
    else:
        check([*argv, "--output=json", *names], None, status, found)
    check([*argv, "-q", *names], None, status, None)
    if names[0] == "a":
        with subprocess.Popen(["cat", "a"], stdout=subprocess.PIPE) as cat:
            check([*argv, "--output=json", "-", names[1]], cat.stdout, status,
                  found)
    check_size(rng, [*argv, "--output=json", *names], contents, block_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", type=int,
                        default=int(os.environ.get("BLKHASH_SEED",
                                                   random.randrange(10**9))))
    parser.add_argument("--rounds", type=int,
                        default=int(os.environ.get("BLKHASH_ROUNDS", 30)))
    parser.add_argument("--qemu", action="store_true")
    args = parser.parse_args()
    os.chdir(args.dir)
    print("seed %d" % args.seed, flush=True)
    for i in range(args.rounds):
        rng = random.Random("%d/%d" % (args.seed, i))
        try:
            run_round(rng, args)
        except Failure as failure:
            sys.exit("round %d: %s" % (i, failure))


main()

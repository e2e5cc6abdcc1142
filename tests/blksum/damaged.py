#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Damaged and crafted lists of checksums and manifests.

A small list and a small manifest have every bit flipped; the manifest is also
cut at every byte, and others are composed incorrectly.  A line with a bit
flipped is OK only if it means the same.  No job that reads one of the manifests
succeeds: it prints an error, and exits with status 2.  All use little memory.

    damaged.py --dir DIR [--seed S] [--memory KIB] [--short]

The seed is printed; BLKHASH_SEED has the effect of the option.
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys

import reference
import refmanifest
from refmanifest import ZERO, end, header, record

BATCH = 500                     # operands of one run
ADDRESS_SPACE = 1 << 30         # limit, including memory that is not used
LIMIT = 300                     # timeout in seconds, far above any run


class Failure(Exception):
    pass


def expect(what, expected, got):
    if expected != got:
        raise Failure("%s:\n  expected %.600r\n  got      %.600r"
                      % (what, expected, got))


class Blksum:
    def __init__(self, memory):
        self.memory = memory

    def limit(self):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    def run(self, *args, data=b""):
        """Exit status, lines of output, lines of messages."""
        limited = {"preexec_fn": self.limit} if self.memory else {}
        program = "blkhash" if args[0] == "compare" else "blksum"
        with subprocess.Popen([program, *args, "-t", "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **limited) as process:
            try:
                out, err = process.communicate(data, timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Failure("no end: %s %s" % (program, " ".join(args)[:300]))
        return (process.returncode, out.decode("latin-1").splitlines(),
                err.decode("latin-1").splitlines())

    def check_memory(self, what):
        """Check the peak memory of all runs, in KiB."""
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if self.memory and most > self.memory:
            raise Failure("%s: %d KiB of memory" % (what, most))


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)
    return name


def flips(data):
    """DATA with each of its bits flipped."""
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield "flip%d" % bit, bytes(changed)


def cuts(data):
    for size in range(len(data)):
        yield "cut%d" % size, data[:size]


def batches(items):
    items = list(items)
    return [items[i:i + BATCH] for i in range(0, len(items), BATCH)]


# ---- Lists ----------------------------------------------------------------


def means_the_same(line, other):
    """They only differ in the case of digits, digests and units, or in " " and
    "*" before a name; "blk-" and names are compared exactly."""
    return (line.lower().replace(b"*", b" ") == other.lower() and
            b"image" in line and line.startswith(b"blk-") ==
            other.startswith(b"blk-"))


def test_lists(blksum):
    write("image", b"hello")
    value = reference.blkhash(b"hello", "md5").encode()
    for line in (b"blk-md5/64k (image) = %s\n" % value, value + b"  image\n"):
        for batch in batches(flips(line)):
            names = [write(name, data) for name, data in batch]
            status, out, err = blksum.run("--check", "-d", "md5", *names)
            same = sum(means_the_same(data, line) for _, data in batch)
            expect("OK with a bit flipped in %s" % line, same,
                   out.count("image: OK"))
            failed = sum(": FAILED" in text for text in out)
            refused = [name for name in names
                       if any(text.startswith("blksum: %s: " % name) and
                              "none matches" not in text for text in err)]
            expect("of %s" % line, len(batch), same + failed + len(refused))
            if status not in (1, 2):
                raise Failure("exit status %d" % status)
    blksum.check_memory("lists")


# ---- Manifests ------------------------------------------------------------


def all_refused(blksum, manifests, regex):
    """No manifest has a sum, and each gets an error."""
    for batch in batches(manifests):
        names = ["manifest:" + write(*item) for item in batch]
        status, out, err = blksum.run(*names)
        expect("status and output", (2, []), (status, out))
        for name, text in zip(names, err):
            if not re.match("blksum: %s: .*(%s)" % (name, regex), text):
                raise Failure("%s: %s" % (name, text))
        expect("messages", len(names), len(err))


def test_cut_and_flipped(blksum, rng):
    image = bytes(64) + rng.randbytes(100) + bytes(156) + rng.randbytes(30)
    data = refmanifest.write(image, "md5", 64)
    write("right", data)
    md = refmanifest.read(data).md.hex()
    expect("as it is", (0, [md + "  manifest:right"], []),
           blksum.run("manifest:right"))
    all_refused(blksum, cuts(data), "cut off|too short")
    all_refused(blksum, flips(data), ".")
    all_refused(blksum, [("more", data + b"\0")], "trailing data")
    blksum.check_memory("manifests")
    return data


def refused_by_all(blksum, name, data, sum_, regex):
    """By all jobs that read a manifest."""
    write(name, data)
    write("list", ("blk-md5/64 (manifest:%s) = %s\n" % (name, sum_)).encode())
    operand = "manifest:" + name
    for args, out in (([operand], []),
                      (["manifest:-"], []),
                      (["--expect", "blk-md5/64:" + sum_, operand], []),
                      (["--check", "list"],
                       [operand + ": FAILED open or read"]),
                      (["compare", operand, "image"], []),
                      (["compare", "image", operand], []),
                      (["compare", "manifest:-", "image"], []),
                      (["compare", operand, "manifest:right"], []),
                      (["compare", "manifest:right", operand], [])):
        if "image" in args:
            args = [*args, "-d", "md5/64"]
        status, got, err = blksum.run(*args, data=data)
        what = "%s, %s" % (name, " ".join(args))
        expect(what, (2, out), (status, [line for line in got if
                                         not line.startswith("The sizes")]))
        if not err or not re.match("blk(sum|hash): manifest:(%s|-|right): .*(%s)"
                                   % (name, regex), err[0]):
            raise Failure("%s: %s does not say %s" % (what, err, regex))
        blksum.check_memory(what)


def test_sample(blksum, rng, data, short):
    """A sample of cut and flipped manifests, by all jobs that read
    manifests."""
    md = refmanifest.read(data).md.hex()
    for items in cuts(data), flips(data):
        for name, damaged in rng.sample(list(items), 1 if short else 4):
            refused_by_all(blksum, name, damaged, md, ".")


def leaves(first, count):
    return record(first, count, bytes(range(1, 17)) * count)


def crafted(data):
    """Yields name, manifest, and error.  The valid manifest has 6 blocks of 64
    bytes; 0, 3 and 4 are zeros."""
    right = refmanifest.read(data)
    head, last = data[:512], end(data[:512], 6, right.md)
    parts = [record(first, count | (0 if run else ZERO), b"".join(run or []))
             for first, count, run in right.runs]
    a, b, c, d = parts
    expect("put together", data, head + a + b + c + d + last)
    yield "unsorted", head + b + a + c + d + last, "skips blocks"
    yield "swapped", head + a + b + d + c + last, "skips blocks"
    yield "twice", head + a + b + b + c + d + last, "earlier records"
    yield ("overlapping", head + a + b + record(2, 3 | ZERO, b"") + d + last,
           "earlier records")
    yield "gap", head + a + b + d + last, "skips blocks"
    yield "none", head + last, "are missing"
    yield "empty", head + a + record(1, 0, b"") + last, "has no blocks"
    yield ("claims", head + a + record(1, 10**12, b"") + last,
           "more blocks than")
    yield ("zeros", head + a + b + record(3, 10**12 | ZERO, b"") + last,
           "more blocks than")
    yield ("root", head + a + b + c + d + end(head, 6, bytes(16)),
           "sum .*not that of")
    yield ("record-crc", head + a[:-8] + bytes(4) + a[-4:] + b + c + d + last,
           "wrong CRC")
    # Zeros as data, with a sum that matches.
    zero = refmanifest.zero_leaf("md5", 64)
    yield ("zeros-as-data", head + record(0, 3, zero + b"".join(
        right.runs[1][2])) + c + d + last, "512 has a block of zeros as data")
    zero = refmanifest.zero_leaf("md5", 30)
    right.runs[3] = (5, 1, [zero])
    yield ("short-zeros-as-data", head + a + b + c + record(5, 1, zero) +
           end(head, 6, right.compute()), "has a block of zeros as data")
    # 10^12 blocks, of which only one is there, or as many as one record can
    # have.
    large = header("blk-md5/64", 64 * 10**12, 0, 10**12)
    yield "large-none", large, "cut off"
    yield "large-one", large + leaves(0, 1), "cut off"
    yield ("large-65536", large + struct_head(0, 65536) + bytes(1000),
           "cut off")
    yield ("large-65537", large + struct_head(0, 65537) + bytes(1000),
           "more leaves than")
    yield ("large-all", large + struct_head(0, 10**12) + bytes(1000),
           "more leaves than")
    yield ("large-end", large + leaves(0, 1) + end(large, 10**12, right.md),
           "are missing")
    for size in 2**64 - 1, 2**64, 10**30:
        yield ("size", header("blk-md5/64", size, 0, 1) + a + last,
               "invalid size")
    yield ("blocks", header("blk-md5/64", 384, 2**64 - 1, 2**64 - 1) + a,
           "does not have")


def struct_head(first, count):
    """The first fields of a record."""
    return first.to_bytes(8, "little") + count.to_bytes(8, "little")


def test_crafted(blksum, data, short):
    md = refmanifest.read(data).md.hex()
    for i, (name, manifest, regex) in enumerate(crafted(data)):
        if name == "root":
            # Manifests are compared without verifying their sums, unless the
            # sums contradict the leaves.
            regex += "|sum of this manifest or of the other"
        if not short or i % 4 == 0:
            refused_by_all(blksum, name, manifest, md, regex)


def test_long(blksum):
    """A manifest that is larger than the memory that it needs."""
    write("long", b"".join(n.to_bytes(4, "little")
                           for n in range(1, 1500000)))
    blksum.run("-d", "sha512", "-b", "4", "--manifest", "long.blkm", "long")
    size = os.path.getsize("long.blkm")
    if blksum.memory and size < blksum.memory * 1024:
        raise Failure("%d bytes are not long" % size)
    blksum.check_memory("writing")
    expect("it is right", (0, ["The images are identical."], []),
           blksum.run("compare", "manifest:long.blkm", "long"))
    os.truncate("long.blkm", size - 1)
    for args in ((["manifest:long.blkm"],
                  ["compare", "manifest:long.blkm", "long"],
                  ["compare", "manifest:long.blkm", "manifest:long.blkm"])):
        status, out, err = blksum.run(*args)
        expect(" ".join(args), (2, []), (status, out))
        if "cut off" not in err[0]:
            raise Failure("%s: %s" % (args, err))
    blksum.check_memory("a long manifest")


def main():
    parser = argparse.ArgumentParser(description="damaged lists, manifests")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", default=os.environ.get("BLKHASH_SEED")
                        or os.urandom(4).hex())
    parser.add_argument("--memory", type=int, help="that is enough, in KiB")
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    print("seed: %s" % args.seed, flush=True)
    os.chdir(args.dir)
    rng, blksum = random.Random(args.seed), Blksum(args.memory)
    try:
        test_lists(blksum)
        data = test_cut_and_flipped(blksum, rng)
        write("image", rng.randbytes(350))
        test_sample(blksum, rng, data, args.short)
        test_crafted(blksum, data, args.short)
        if not args.short:
            test_long(blksum)
    except Failure as e:
        print("FAIL: seed %s, %s" % (args.seed, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

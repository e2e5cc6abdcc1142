#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where two manifests differ, by manifest-driver and by refmanifest.py:
manifests of random images, and manifests that cannot be compared.

Options are those of test-manifest.py.
"""

import os
import re
import struct
import sys

import refmanifest
from manifestdriver import (DIGESTS, Failed, Parts, data_record, expect,
                            random_image, run)
from refmanifest import ZERO, header, record, end


def changed(rng, image, block_size):
    """Another image: IMAGE with other bytes, zeros, or another size."""
    other = bytearray(image)
    for _ in range(rng.choice((0, 1, 1, 3, 20))):
        if not other:
            break
        at = rng.randrange(len(other))
        end_ = min(len(other), at + rng.choice((1, 1, block_size,
                                                20 * block_size)))
        other[at:end_] = rng.choice((bytes, rng.randbytes))(end_ - at)
    kind = rng.randrange(6)
    if kind == 0:
        del other[rng.randrange(len(other) + 1):]
    elif kind == 1:
        del other[len(other) // block_size * block_size:]
        other += rng.choice((bytes, rng.randbytes))(
            rng.choice((1, block_size, 7 * block_size + 1)))
    elif kind == 2:
        other += bytes(rng.randrange(1, 4 * block_size))
    return bytes(other)


def check_diff(driver, flags, data, ranges, why=None):
    """The output of the driver for two manifests, in both orders: the ranges,
    and the error if more is unknown."""
    lines = "".join("%d %d\n" % tuple(r) for r in ranges)
    name = os.path.join(driver.dir, "other")
    for a, b in data, reversed(data):
        with open(name, "wb") as f:
            f.write(b)
        driver.turn = not driver.turn
        status, out, err = driver.run(["diff", flags, name], a, driver.turn)
        expect("diff", lines, out.decode())
        if not re.search(why, err) if why else err:
            raise Failed("diff: %r does not say %r" % (err, why))
        expect("status of diff", 1 if why else 0, status)


def test_diff_random(driver, rng, rounds):
    for _ in range(4 * rounds):
        block_size = rng.choice((4, 64, 512))
        digest = rng.choice(DIGESTS[:-1])
        image = random_image(rng, block_size)
        images = image, changed(rng, image, block_size)
        data = [refmanifest.write(i, digest, block_size, rng.choice((0, 0, 3)))
                for i in images]
        ranges, unknown = refmanifest.diff(*images, block_size)
        check_diff(driver, rng.choice("01"), data, ranges,
                   "No data available: .*does not show" if unknown else None)


def test_diff_records(driver):
    """Records end at different blocks; 2^62 blocks take no time."""
    image = struct.pack("<140000I", *range(1, 140001))
    other = bytes(4) + image[4:]
    images = image, other[:300000] + bytes(100000) + other[400000:-1] + b"\7"
    check_diff(driver, "0", [refmanifest.write(i, "md5", 4) for i in images],
               [[0, 4], [300000, 100000], [559996, 4]])
    size = 2**64 - 2
    head = header("blk-sha512/4", size, 0, 2**62)
    zeros = head + record(0, 2**62 | ZERO, b"") + end(head, 2**62, bytes(64))
    data = b"".join((head, record(0, 2**62 - 1 | ZERO, b""),
                     record(2**62 - 1, 1, bytes(64)),
                     end(head, 2**62, b"\1" * 64)))
    check_diff(driver, "1", (zeros, zeros), [])
    check_diff(driver, "1", (zeros, data), [[size - 2, 2]])
    less = header("blk-sha512/4", 8, 0, 2)
    less += record(0, 2 | ZERO, b"") + end(less, 2, bytes(64))
    check_diff(driver, "1", (less, data), [[size - 2, 2]])


def test_diff_refused(driver):
    p = Parts()
    a, zeros, b = p.records
    image = bytes(range(1, 129)) + bytes(320) + bytes(range(1, 181))
    for digest, block_size in ("md5", 128), ("sha1", 64), ("sha256", 32):
        other = refmanifest.write(image, digest, block_size)
        check_diff(driver, "0", (p.right.data, other), [],
                   "Invalid argument: .*different digests or block sizes")
    nulls = refmanifest.write(image, "null", 64), \
        refmanifest.write(image[:-1] + b"x", "null", 64)
    check_diff(driver, "0", nulls, [], "Invalid argument: .*digest null")
    # One of them is damaged.
    for data in p.right.data[:-1], p.right.data + b"x", \
            p.join(a, zeros, b, end_=end(p.head, 10, bytes(16))):
        check_diff(driver, "0", (p.right.data, data), [],
                   "Bad message: (, [^,]+|[^,]+, )$")
    # Sums that were not computed from the leaves contradict them.
    for data, ranges in (
            (p.join(a, zeros, b, end_=end(p.head, 10, bytes(16))), []),
            (p.join(a, zeros, data_record(7, 3)), [[448, 180]])):
        check_diff(driver, "1", (p.right.data, data), ranges,
                   "Bad message: the sum of this manifest or of the other")


def test_diff_parts(driver):
    p = Parts()
    a, zeros, b = p.records
    text = p.head.rstrip(b"\0").decode()

    def part(first, count, *records, size=628):
        head = text.replace("0:10", "%d:%d" % (first, count))
        head = head.replace("628", "%d" % size).encode().ljust(512, b"\0")
        return b"".join([head, *records, end(head, count, b"")])

    last = part(2, 8, zeros, b)
    check_diff(driver, "0", (last, last), [])
    check_diff(driver, "0", (last, part(2, 8, zeros, data_record(7, 3))),
               [[448, 180]])
    check_diff(driver, "0", (last, part(2, 8, data_record(2, 8))),
               [[128, 500]])
    for data in p.right.data, part(2, 5, zeros), part(7, 3, b), \
            part(2, 8, zeros, b, size=640):
        check_diff(driver, "0", (last, data), [],
                   "Invalid argument: .*different parts")


def tests(driver, rng, rounds):
    test_diff_random(driver, rng, rounds)
    test_diff_records(driver)
    test_diff_refused(driver)
    test_diff_parts(driver)


if __name__ == "__main__":
    sys.exit(run(tests))

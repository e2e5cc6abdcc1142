#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Manifests of random images, written and read by manifest-driver and by
refmanifest.py; and damaged and crafted manifests.

    test-manifest.py --driver PATH --dir DIR [--seed S] [--rounds N]
                     [--limit-memory] [--short] [--every N]

With --every N only each N-th manifest that must be refused is tried.  The seed
is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.
"""

import re
import struct
import sys

import refmanifest
from manifestdriver import (DIGESTS, Failed, Parts, data_record, expect,
                            random_image, run, zeros_as_data)
from refmanifest import ZERO, header, record, end


def read_lines(manifest, flags):
    """The output of the driver for a manifest."""
    first = "%s %d %d %d %d %d %d" % (
        manifest.digest, manifest.block_size, manifest.streams,
        manifest.linear, manifest.size, manifest.first, manifest.count)
    return "\n".join([first, *manifest.lines()]) + "\n"


def check_right(driver, data):
    """All readers agree about a manifest."""
    manifest = refmanifest.read(data)
    expected = read_lines(manifest, 0)
    for flags in "0", "1":
        for from_pipe in driver.inputs():
            expect("read %s" % flags, expected,
                   driver.well(["read", flags], data, from_pipe).decode())
    if manifest.count == manifest.blocks:
        # All but unknown keys, and the CRC of the header.
        expect("load", data[512:-8], driver.well(["load"], data)[512:-8])


def check_image(driver, image, digest, block_size, streams):
    linear = streams == "linear"
    data = refmanifest.write(image, digest, block_size,
                             0 if linear else streams, linear)
    for how in "sink", "end", "save":
        expect("written by " + how, data,
               driver.well(["write", digest, str(block_size), str(streams),
                            how], image))
    check_right(driver, data)


def check_part(driver, image, digest, block_size, streams, first, count):
    linear = streams == "linear"
    data = refmanifest.part(image, first, count, digest, block_size,
                            0 if linear else streams, linear)
    expect("the part %d:%d" % (first, count), data,
           driver.well(["part", digest, str(block_size), str(streams),
                        str(first), str(count)], image))
    check_right(driver, data)


def test_random_parts(driver, rng, rounds):
    for _ in range(rounds):
        block_size = rng.choice((4, 64, 512))
        image = random_image(rng, block_size)
        blocks = -(-len(image) // block_size)
        first = rng.randrange(blocks + 1)
        count = rng.choice((blocks - first, rng.randrange(blocks - first + 1)))
        check_part(driver, image, rng.choice(DIGESTS), block_size,
                   rng.choice((0, 7, "linear")), first, count)
    # Records are counted from the begin of the part.
    image = struct.pack("<140000I", *range(1, 140001))
    check_part(driver, image, "md5", 4, 0, 3, 131080)


def test_random(driver, rng, rounds):
    for _ in range(rounds):
        block_size = rng.choice((4, 64, 512, 4096))
        check_image(driver, random_image(rng, block_size),
                    rng.choice(DIGESTS), block_size,
                    rng.choice((0, 0, 0, 1, 7, 64, "linear")))


def test_sizes(driver):
    for size in 0, 1, 511, 65535, 65536, 65537, 1048577:
        for image in bytes(size), bytes(i % 251 for i in range(size)):
            check_image(driver, image, "sha256", 65536, 0)
    # Records that are full, one block longer, and shorter; zeros in between.
    for blocks in (65536, 65537) if driver.short else (65536, 65537, 140000):
        image = struct.pack("<%dI" % blocks, *range(1, blocks + 1))
        check_image(driver, image, "md5", 4, 0)
    check_image(driver, image[:-1] + bytes(5000) + image, "md5", 4, "linear")


# ---- Errors ---------------------------------------------------------------


def refused(driver, what, data, why, flags=("0", "1")):
    """No reader accepts it, and the driver prints the reason."""
    if not driver.takes():
        return
    try:
        refmanifest.read(data)
    except refmanifest.Wrong:
        pass
    else:
        if "1" in flags:
            raise Failed("the reference accepts %s" % what)
    for args, from_pipe in [(["read", flag], from_pipe) for flag in flags
                            for from_pipe in driver.inputs()]:
        status, _, err = driver.run(args, data, from_pipe)
        if status != 1 or not re.search(why, err):
            raise Failed("%s, %s: status %d, %r does not say %r"
                         % (what, args, status, err, why))
    # A manifest that a reader refuses is not loaded into a table.
    if driver.run(["load"], data)[0] != 1:
        raise Failed("%s: loaded" % what)


def test_damaged(driver, rng):
    """Cut at some bytes; some bits flipped."""
    image = bytes(200) + rng.randbytes(300) + bytes(500) + rng.randbytes(77)
    data = refmanifest.write(image, "md5", 64)
    cuts = {0, 1, 511, 512, 513, 527, 528, 535, 536, len(data) - 1,
            *(rng.randrange(len(data)) for _ in range(12))}
    for n in sorted(cuts):
        refused(driver, "%d of %d bytes" % (n, len(data)), data[:n],
                "cut off|too short")
    refused(driver, "a byte more", data + b"\0", "trailing data")
    places = [rng.randrange(8 * 512, 8 * len(data)) for _ in range(25)] + \
        [8 * rng.randrange(70) + rng.randrange(8) for _ in range(15)]
    for bit in places:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        refused(driver, "bit %d flipped" % bit, bytes(flipped), ": ")


def test_crafted_records(driver):
    p = Parts()
    a, zeros, b = p.records
    expect("put together", p.right.data, p.join(a, zeros, b))
    check_right(driver, p.right.data)
    for what, why, data in (
            ("a wrong sum", "the sum is not",
             p.join(a, zeros, b, end_=end(p.head, 10, bytes(16)))),
            ("other leaves", "the sum is not",
             p.join(data_record(0, 2), zeros, b))):
        refused(driver, what, data, why, flags="0")
    for what, why, data in (
            ("not sorted", "skips blocks", p.join(zeros, a, b)),
            ("twice", "earlier records", p.join(a, a, zeros, b)),
            ("overlapping", "earlier records",
             p.join(a, record(1, 6 | ZERO, b""), b)),
            ("a gap", "skips blocks", p.join(a, b)),
            ("no end of it", "are missing", p.join(a, zeros)),
            ("too many", "more blocks than",
             p.join(a, zeros, b, data_record(10, 1))),
            ("too many zeros", "more blocks than",
             p.join(a, zeros, b, record(10, 1 | ZERO, b""))),
            ("no leaves", "has no blocks", p.join(a, record(2, 0, b""))),
            ("no zeros", "has no blocks", p.join(a, record(2, ZERO, b""))),
            ("10^12 leaves", "more blocks than",
             p.join(a, zeros, record(7, 10**12, b""))),
            ("2^63 - 1 leaves", "more blocks than",
             p.join(a, zeros, record(7, 2**63 - 1, b""))),
            ("10^12 zeros", "more blocks than",
             p.join(a, record(2, 10**12 | ZERO, b""))),
            ("zeros in two", "merged with the one before",
             p.join(a, record(2, 2 | ZERO, b""), record(4, 3 | ZERO, b""), b)),
            ("data in two", "merged with the one before",
             p.join(data_record(0, 1), data_record(1, 1), zeros, b)),
            ("another number of blocks", "wrong total number",
             p.join(a, zeros, b, end_=end(p.head, 9, p.md))),
            ("the end of another", "wrong CRC",
             p.join(a, zeros, b, end_=end(p.head[:-1] + b"\1", 10, p.md))),
            ("the end of a part", "cut off",
             p.join(a, zeros, b, end_=end(p.head, 10, b""))),
            ("two ends", "trailing data", p.join(a, zeros, b, p.end)),
            ("a CRC of 0", "wrong CRC",
             p.join(a, zeros[:-8] + bytes(8), b)),
            ("not 0 at the end", "does not end with 0",
             p.join(a, zeros[:-1] + b"\1", b))):
        refused(driver, what, data, why)


def test_zeros_as_data(driver):
    """Only zeros have the leaf of zeros of the block's length."""
    why = "the record at byte 512 has a block of zeros as data"
    data = bytes(range(1, 65))
    for digest, block_size, streams in (("sha256", 64, 0), ("md5", 512, 0),
                                        ("blake2b512", 64, 7)):
        for image in (data * 8 + bytes(512) + data, bytes(512),
                      bytes(512) + data, data * 8 + bytes(512),
                      data * 8 + bytes(1), data * 16 + bytes(63)):
            refused(driver, "zeros as data",
                    zeros_as_data(image, digest, block_size, streams), why)
    # In a part, and in the second record.
    p = Parts()
    zero = refmanifest.zero_leaf("md5", 64)
    text = p.head.rstrip(b"\0").decode()
    head = text.replace("0:10", "3:2").encode().ljust(512, b"\0")
    refused(driver, "zeros as data of a part",
            head + record(3, 2, bytes(16) + zero) + end(head, 2, b""), why)
    refused(driver, "zeros behind zeros",
            p.join(p.records[0], record(2, 1 | ZERO, b""),
                   record(3, 7, zero * 4 + b"".join(p.right.runs[2][2]))),
            "the record at byte 592 has a block of zeros as data")
    # The leaf of zeros of another length is one of data.
    short = refmanifest.zero_leaf("md5", 52)
    check_right(driver, right_sum(p, [bytes(16), short], [bytes(16), bytes(16),
                                                          zero]))
    # With these digests data cannot be distinguished from zeros.
    for digest in "null", "xxh64", "xxh3-128":
        if driver.run(["write", digest, "64", "0", "sink"], b"")[0] == 0:
            check_right(driver, zeros_as_data(data + bytes(100), digest, 64))


def right_sum(p, first, last):
    """P with other leaves of data, and their sum."""
    p.right.runs = [(0, 2, first), p.right.runs[1], (7, 3, last)]
    return p.join(record(0, 2, b"".join(first)), p.records[1],
                  record(7, 3, b"".join(last)),
                  end_=end(p.head, 10, p.right.compute()))


def test_hostile_sizes(driver):
    """The header and records promise more than there is."""
    made = "blk-sha512/4"
    size = 2**64 - 2
    head = header(made, size, 0, 2**62)
    for what, why, data in (
            ("65537 leaves", "more leaves than",
             head + record(0, 65537, bytes(64))),
            ("2^40 leaves", "more leaves than",
             head + record(0, 2**40, bytes(64))),
            ("65536 that are not there", "cut off",
             head + record(0, 65536, bytes(64))),
            ("nothing", "cut off", head)):
        refused(driver, what, data, why)
    # Their sum would take very long, and follows next.
    data = head + record(0, 2**62 | ZERO, b"") + end(head, 2**62, bytes(64))
    for from_pipe in False, True:
        expect("2^62 blocks", "sha512 4 0 0 %d 0 %d\n0 zero %d\nsum %s\n"
               % (size, 2**62, 2**62, "00" * 64),
               driver.well(["read", "1"], data, from_pipe).decode())
    # Many records of one block each: memory does not grow.
    count = 10**4 if driver.short else 10**5
    head = header("blk-md5/4", 4 * count, 0, count)
    records = [record(i, 1 | ZERO, b"") if i % 2 else data_record(i, 1)
               for i in range(count)]
    data = b"".join([head, *records, end(head, count, bytes(16))])
    driver.well(["read", "1"], data)
    refused(driver, "%d records" % count, data, "the sum is not", flags="0")


def test_headers(driver):
    p = Parts()
    text = p.head.rstrip(b"\0").decode()
    sum_line, size_line, blocks_line = text.split("\n")[1:4]

    def with_head(text):
        head = text.encode("latin-1").ljust(512, b"\0")
        return p.join(*p.records, head=head, end_=end(head, 10, p.md))

    check_right(driver, with_head(text))
    check_right(driver, with_head(text + "made-by: somebody\nmade-by: else\n"))
    check_right(driver, with_head(
        "\n".join(["blkhash-manifest 1", "x: y", blocks_line, size_line,
                   sum_line, ""])))
    for what, why, head in (
            ("nothing", "not a blkhash", ""),
            ("another file", "not a blkhash", "\x7fELF"),
            ("no newline", "version", text.replace("\n", " ")),
            ("version 2", "version", text.replace("est 1", "est 2")),
            ("version 1.1", "version", text.replace("est 1", "est 1.1")),
            ("version 10", "version", text.replace("est 1", "est 10")),
            ("a key to refuse", "later version", text + "!encrypted: yes\n"),
            ("half a line", "damaged", text + "x: y"),
            ("text behind NUL", "damaged", text + "\0x: y\n"),
            ("a tab", "damaged", text + "x: \ty\n"),
            ("an empty line", "invalid line", text + "\n"),
            ("no colon", "invalid line", text + "x\n"),
            ("no space", "invalid line", text + "x:y\n"),
            ("sum twice", "twice", text + sum_line + "\n"),
            ("size twice", "twice", text + size_line + "\n"),
            ("blocks twice", "twice", text + blocks_line + "\n"),
            ("no sum", "lacks a required key", text.replace("sum:", "sun:")),
            ("no size", "lacks a required key", text.replace("size:", "siz:")),
            ("no blocks", "lacks a required key",
             text.replace("blocks:", "b:")),
            ("two kinds", "hash parameters", text.replace("md5/64", "md5/064")),
            ("no digest", "hash parameters", text.replace("md5", "md6")),
            ("no block size", "hash parameters",
             text.replace("md5/64", "md5/48")),
            ("sha256sum", "hash parameters", text.replace("blk-", "")),
            ("a size with zeros", "size", text.replace("size: ", "size: 0")),
            ("a size that is signed", "size",
             text.replace("size: ", "size: +")),
            ("no number", "size", text.replace(size_line, "size: 0x10")),
            ("2^64 - 1", "size",
             text.replace(size_line, "size: 18446744073709551615")),
            ("2^64 + 628", "size",
             text.replace(size_line, "size: 18446744073709552244")),
            ("no count", "numbers of blocks", text.replace(":10", ":")),
            ("no first", "numbers of blocks", text.replace("0:10", ":10")),
            ("spaces", "numbers of blocks", text.replace("0:10", "0: 10")),
            ("three", "numbers of blocks", text.replace("0:10", "0:10:1")),
            ("11 blocks", "does not have", text.replace("0:10", "0:11")),
            ("blocks from 11", "does not have", text.replace("0:10", "11:0")),
            ("numbers that wrap", "does not have", text.replace(
                "0:10", "18446744073709551615:18446744073709551615"))):
        refused(driver, "header: " + what, with_head(head), why)
    # The size is smaller, with the same number of blocks.
    refused(driver, "another size, as many blocks",
            with_head(text.replace(size_line, "size: 627")), "the sum is not",
            flags="0")
    for size in 576, 641:
        refused(driver, "another size",
                with_head(text.replace(size_line, "size: %d" % size)), ": ")


def test_parts(driver):
    """A part has no sum; all other rules apply to it too."""
    p = Parts()
    text = p.head.rstrip(b"\0").decode()
    leaves = p.right.runs[2][2]

    def part(first, count, *records):
        head = text.replace("0:10", "%d:%d" % (first, count)).encode()
        head = head.ljust(512, b"\0")
        return b"".join([head, *records, end(head, count, b"")])

    check_right(driver, part(0, 2, p.records[0]))
    check_right(driver, part(3, 3, record(3, 3 | ZERO, b"")))
    check_right(driver, part(5, 5, record(5, 2 | ZERO, b""), p.records[2]))
    check_right(driver, part(8, 1, record(8, 1, leaves[1])))
    check_right(driver, part(4, 0))
    for what, why, data in (
            ("less", "are missing", part(0, 3, p.records[0])),
            ("more", "more blocks than", part(0, 1, p.records[0])),
            ("elsewhere", "earlier records", part(1, 2, p.records[0])),
            ("a gap at its start", "skips blocks",
             part(1, 6, p.records[1])),
            ("a sum", "wrong CRC",
             part(0, 2, p.records[0])[:-24] + p.end)):
        refused(driver, "a part, " + what, data, why)
    for data in part(0, 2, p.records[0]), part(4, 0):
        status, _, err = driver.run(["load"], data)
        if status != 1 or "blkhash_leaves_save: No data available" not in err:
            raise Failed("a part was saved: %d %s" % (status, err))


def tests(driver, rng, rounds):
    expect("CRC", 0xE3069283, refmanifest.crc32c(b"123456789"))
    test_random(driver, rng, rounds)
    test_random_parts(driver, rng, rounds)
    test_sizes(driver)
    test_damaged(driver, rng)
    test_crafted_records(driver)
    test_zeros_as_data(driver)
    test_hostile_sizes(driver)
    test_headers(driver)
    test_parts(driver)


if __name__ == "__main__":
    sys.exit(run(tests))

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes a vhdx image in place, and updates its checksums.

    vhdx-edit.py FILE block N STATE [OFFSET]    block N of the disk
    vhdx-edit.py FILE bitmap N ENTRY            the entry after chunk N
    vhdx-edit.py FILE item NAME VALUE           of the metadata, see ITEMS
    vhdx-edit.py FILE bat OFFSET LENGTH         where the block table is
    vhdx-edit.py FILE log N                     a log that sets block N to zero
    vhdx-edit.py FILE old-log                   the same in the older header

Numbers are in Python's notation.  STATE and OFFSET can be "-": unchanged.
"""

import struct
import sys

HEADERS = (0x10000, 0x20000)
REGIONS = 0x30000
BAT = bytes.fromhex("6677c22d23f600429d64115e9bfd4a08")
METADATA = bytes.fromhex("06a27c8b90479a4bb8fe575f050f886e")
ITEMS = {                       # guid, offset in the item, struct format
    "block-size": ("3767a1ca36fa434db3b633f0aa44e76b", 0, "<I"),
    "flags": ("3767a1ca36fa434db3b633f0aa44e76b", 4, "<I"),
    "size": ("2442a52f1bcd7648b2115dbed83bf4b8", 0, "<Q"),
    "sector": ("1dbf41816fa90947ba47f233a8faab5f", 0, "<I"),
}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def get(fmt, offset):
    f.seek(offset)
    return struct.unpack(fmt, f.read(struct.calcsize(fmt)))


def put(fmt, offset, *values):
    f.seek(offset)
    f.write(struct.pack(fmt, *values))


def seal(offset, size):
    """The checksum is at offset 4, and is computed with zeros there."""
    put("<I", offset + 4, 0)
    f.seek(offset)
    put("<I", offset + 4, crc32c(f.read(size)))


def find(start, header, count, guid):
    for i in range(count):
        at = start + header + 32 * i
        if get("16s", at)[0] == guid:
            return at
    sys.exit("no entry " + guid.hex())


def region(guid):
    return find(REGIONS, 16, get("<I", REGIONS + 8)[0], guid)


def item(name):
    guid, at, fmt = ITEMS[name]
    start = get("<Q", region(METADATA) + 16)[0]
    entry = find(start, 32, get("<H", start + 10)[0], bytes.fromhex(guid))
    return fmt, start + get("<I", entry + 16)[0] + at


def entry_at(block):
    chunk = (1 << 23) * get(*item("sector"))[0] // get(*item("block-size"))[0]
    return get("<Q", region(BAT) + 16)[0] + 8 * (block + block // chunk), chunk


def write_log(block, header):
    """A log with one entry, which zeroes the sector with the entry of the
    block."""
    guid = b"a log, not empty"
    start = get("<Q", HEADERS[0] + 72)[0]
    put("<4sIIIQII16sQQ", start, b"loge", 0, 4096, 0, 1, 1, 0, guid,
        1 << 20, 1 << 20)
    put("<4sIQQQ", start + 64, b"zero", 0, 4096,
        entry_at(block)[0] & ~4095, 1)
    seal(start, 4096)
    put("16s", header + 48, guid)
    seal(header, 4096)


def newest():
    return max(HEADERS, key=lambda at: get("<Q", at + 8)[0])


name, command, *args = sys.argv[1:]
numbers = [int(a, 0) if a[0].isdigit() else None for a in args]
with open(name, "r+b") as f:
    if command == "block":
        at = entry_at(numbers[0])[0]
        entry, = get("<Q", at)
        if numbers[1] is not None:
            entry = entry & ~7 | numbers[1]
        if len(args) > 2 and numbers[2] is not None:
            entry = entry & 0xfffff | numbers[2]
        put("<Q", at, entry)
    elif command == "bitmap":
        chunk = entry_at(0)[1]
        put("<Q", entry_at(chunk * (numbers[0] + 1) - 1)[0] + 8, numbers[1])
    elif command == "item":
        fmt, at = item(args[0])
        put(fmt, at, numbers[1])
    elif command == "bat":
        put("<QI", region(BAT) + 16, *numbers)
        seal(REGIONS, 65536)
    elif command == "log":
        write_log(numbers[0], newest())
    elif command == "old-log":
        write_log(0, sum(HEADERS) - newest())

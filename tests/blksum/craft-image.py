#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Creates images that qemu-img does not: craft-image.py KIND FILE ARGUMENT...
# The function KIND creates the file.

import base64
import os
import struct
import sys
import zlib


def vpc_footer(disk_type, size, creator="win", geometry=(30, 4, 17)):
    """CREATOR is "vbox", "win" or another; spaces follow a Microsoft name, and
    NULs the others."""
    creator = creator.encode().ljust(4, b" " if creator in (
        "win", "vpc", "vs", "d2v") else b"\0")
    footer = bytearray(512)
    struct.pack_into(">8sIIQI4sIIQQHBBI", footer, 0, b"conectix", 2, 0x10000,
                     512, 0, creator, 0x50000, 0x5769326b, size, size,
                     *geometry, disk_type)
    struct.pack_into(">I", footer, 64, ~sum(footer) & 0xffffffff)
    return bytes(footer)


def vpc(path, first, last, entries="1", size="1048576"):
    """An empty VHD with these types in the footers at the start and at the end
    (0: none), with a parent if one of them is 4.  Its header has ENTRIES for
    the block allocation table; the file has 128."""
    first, last, size = int(first), int(last), int(size)
    header = bytearray(1024)
    struct.pack_into(">8sQQIII", header, 0, b"cxsparse", 2 ** 64 - 1, 1536,
                     0x10000, int(entries), 2 << 20)
    parent = "parent.vhd".encode("utf-16-be")
    if 4 in (first, last):
        header[40:56] = bytes(range(16))
        header[64:64 + len(parent)] = parent
        struct.pack_into(">4sIIIQ", header, 576, b"W2ku", 512, len(parent), 0,
                         2048)
    struct.pack_into(">I", header, 36, ~sum(header) & 0xffffffff)
    with open(path, "wb") as f:
        if first:
            f.write(vpc_footer(first, size) + header)
            f.write(b"\xff" * 512 + parent.ljust(512, b"\0"))
        else:
            f.write(bytes(size))
        if last:
            f.write(vpc_footer(last, size))


def dmg(path, disk):
    """A disk image of macOS with the content of the file DISK, one half plain,
    the other compressed."""
    with open(disk, "rb") as f:
        data = f.read()
    sectors = len(data) // 512
    plain = sectors // 2
    packed = zlib.compress(data[plain * 512:])
    fork = data[:plain * 512] + packed
    blocks = [(1, 0, plain, 0, plain * 512),
              (0x80000005, plain, sectors - plain, plain * 512, len(packed)),
              (0xffffffff, sectors, 0, 0, 0)]
    mish = struct.pack(">4sIQQQII160xI", b"mish", 1, 0, sectors, 0,
                       sectors + 1, 0, len(blocks))
    for kind, sector, count, offset, size in blocks:
        mish += struct.pack(">IIQQQQ", kind, 0, sector, count, offset, size)
    xml = (b"<plist><dict><key>resource-fork</key><dict><key>blkx</key>"
           b"<array><dict><key>Data</key><data>" + base64.b64encode(mish) +
           b"</data></dict></array></dict></dict></plist>")
    koly = bytearray(512)
    struct.pack_into(">4sIIIQQQQQII", koly, 0, b"koly", 4, 512, 1, 0, 0,
                     len(fork), 0, 0, 1, 1)
    struct.pack_into(">QQ", koly, 216, len(fork), len(xml))
    struct.pack_into(">IQ", koly, 488, 1, sectors)
    with open(path, "wb") as f:
        f.write(fork + xml + koly)


def vmdk(path, grain):
    """A vmdk with one compressed grain of GRAIN sectors, all zeros."""
    grain = int(grain)
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(512)) for _ in range(grain))
    packed += packer.flush()
    header = struct.pack("<4sIIQQQQIQQQBccccH", b"KDMV", 3, 0x30001, grain,
                         grain, 1, 20, 512, 0, 21, 30, 0, b"\n", b" ", b"\r",
                         b"\n", 1)
    text = ("# Disk DescriptorFile\nversion=1\nCID=12345678\n"
            "parentCID=ffffffff\ncreateType=\"streamOptimized\"\n"
            "RW %d SPARSE \"disk.vmdk\"\n" % grain).encode()
    with open(path, "wb") as f:
        f.write(header.ljust(512, b"\0") + text.ljust(20 * 512, b"\0"))
        f.write(struct.pack("<I", 22).ljust(512, b"\0"))  # the directory
        f.write(struct.pack("<I", 30).ljust(8 * 512, b"\0"))  # the table
        f.write(struct.pack("<QI", 0, len(packed)) + packed)
        f.truncate((f.tell() + 511) // 512 * 512)


def vdi(path, blocks):
    """An empty vdi of 1 MiB whose header has BLOCKS."""
    header = bytearray(512)
    struct.pack_into("<IIII", header, 64, 0xbeda107f, 0x10001, 0x180, 1)
    struct.pack_into("<IIIIIIIQIIII", header, 340, 512, 1024, 0, 0, 0, 512, 0,
                     1 << 20, 1 << 20, 0, int(blocks), 0)
    with open(path, "wb") as f:
        f.write(header + b"\xff" * 512)


def bitmaps(path):
    """Set all entries of the bitmap tables in the qcow2 PATH to "all ones": 8
    bytes each, for as much memory as a cluster."""
    with open(path, "rb") as f:
        image = bytearray(f.read())
    at = struct.unpack_from(">I", image, 100)[0]
    kind, size = struct.unpack_from(">II", image, at)
    while kind != 0x23852875:
        at += 8 + (size + 7) // 8 * 8
        kind, size = struct.unpack_from(">II", image, at)
    count, _, _, at = struct.unpack_from(">IIQQ", image, at + 8)
    for _ in range(count):
        offset, entries, flags, _, _, name, extra = \
            struct.unpack_from(">QIIBBHI", image, at)
        struct.pack_into(">I", image, at + 12, flags & ~1)  # not in use
        image[offset:offset + entries * 8] = struct.pack(">Q", 1) * entries
        at += (24 + name + extra + 7) // 8 * 8
    with open(path, "wb") as f:
        f.write(image)


# ---- Images with the content of a file ------------------------------------


def clusters(disk, size):
    """The content of the file DISK as clusters of SIZE bytes, None for zeros;
    the last one is padded."""
    with open(disk, "rb") as f:
        data = f.read()
    for at in range(0, len(data), size):
        cluster = data[at:at + size].ljust(size, b"\0")
        yield cluster if any(cluster) else None


def vpc_of(path, disk, kind, creator, cylinders, size="", footer="512"):
    """A VHD, "fixed" or "dynamic" with blocks of 4096 bytes, by CREATOR, with a
    geometry of CYLINDERS of 16 sectors.  Its footer says that the disk has SIZE
    bytes, and has FOOTER bytes at the end; without one the last cluster is
    followed by the end of the file."""
    blocks = list(clusters(disk, 4096))
    exact = os.stat(disk).st_size
    size, geometry = int(size or exact), (int(cylinders), 4, 4)
    with open(disk, "rb") as f:
        data = f.read()
    table, body, first = [], b"", b""
    if kind == "dynamic":
        end = 1536 + -(-4 * len(blocks) // 512) * 512
        for block in blocks:
            table.append((end + len(body)) // 512 if block else 2 ** 32 - 1)
            body += b"\xff" * 512 + block if block else b""
        header = bytearray(1024)
        struct.pack_into(">8sQQIII", header, 0, b"cxsparse", 2 ** 64 - 1, 1536,
                         0x10000, len(table), 4096)
        struct.pack_into(">I", header, 36, ~sum(header) & 0xffffffff)
        data = struct.pack(">%dI" % len(table), *table)
        data = data.ljust(end - 1536, b"\xff") + body
        first = vpc_footer(3, size, creator, geometry) + header
    last = vpc_footer(3 if first else 2, size, creator, geometry)
    with open(path, "wb") as f:
        f.write(first + data + last[:int(footer)])


def padded(disk, size):
    """As clusters, but the rest of the last one is not zero: no reader may take
    it for a part of the disk."""
    blocks = list(clusters(disk, size))
    rest = os.stat(disk).st_size % size
    if rest:
        blocks[-1] = (blocks[-1] or bytes(size))[:rest].ljust(size, b"\xee")
    return blocks


def vdi_of(path, disk):
    """A vdi of exactly the size of DISK."""
    blocks, table, body = padded(disk, 1 << 20), [], []
    for block in blocks:
        table.append(len(body) if block else 2 ** 32 - 1)
        body += [block] if block else []
    header = bytearray(512)
    struct.pack_into("<IIII", header, 64, 0xbeda107f, 0x10001, 0x180, 1)
    struct.pack_into("<IIIIIIIQIIII", header, 340, 512, 1024, 0, 0, 0, 512, 0,
                     os.stat(disk).st_size, 1 << 20, 0, len(blocks), len(body))
    with open(path, "wb") as f:
        f.write(header + struct.pack("<%dI" % len(table), *table)
                .ljust(512, b"\xff") + b"".join(body))


def qcow2_of(path, disk):
    """A qcow2 of exactly the size of DISK, which has one L2 table and one block
    of refcounts."""
    blocks, table = padded(disk, 65536), []
    for number, block in enumerate(blocks):
        table.append(1 << 63 | (4 + number) << 16 if block else 0)
    header = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 16,
                         os.stat(disk).st_size, 0, 1, 3 << 16, 1 << 16, 1, 0, 0)
    parts = [header, struct.pack(">Q", 2 << 16),
             struct.pack(">H", 1) * (5 + len(blocks)),
             struct.pack(">Q", 1 << 63 | (4 + len(blocks)) << 16)]
    parts += [block or b"" for block in blocks]
    parts.append(struct.pack(">%dQ" % len(table), *table))
    with open(path, "wb") as f:
        f.write(b"".join(part.ljust(65536, b"\0") for part in parts))


def sparse_header(disk, directory, version=1, flags=1, sectors=20, packed=0):
    return struct.pack("<4sIIQQQQIQQQBccccH", b"KDMV", version, flags,
                       os.path.getsize(disk) // 512, 128, 1, sectors, 512, 0,
                       directory, 128, 0, b"\n", b" ", b"\r", b"\n",
                       packed).ljust(512, b"\0")


def sparse_of(path, disk, text, sectors):
    """A vmdk of up to 32 MiB with the descriptor TEXT, a file, in this many
    SECTORS, less than 120."""
    sectors, body, table = int(sectors), b"", []
    for grain in clusters(disk, 65536):
        table.append(128 + len(body) // 512 if grain else 0)
        body += grain or b""
    directory = sectors + 1
    with open(text, "rb") as f:
        text = f.read()
    with open(path, "wb") as f:
        f.write(sparse_header(disk, directory, sectors=sectors))
        f.write(text.ljust(512 * sectors, b"\0"))
        f.write(struct.pack("<I", directory + 1).ljust(512, b"\0"))
        f.write(struct.pack("<%dI" % len(table), *table))
        f.truncate(65536)
        f.seek(65536)
        f.write(body)


def stream_of(path, disk):
    """A vmdk of up to 32 MiB that was written as a stream."""
    stream, table = 2 ** 64 - 1, []
    text = ("# Disk DescriptorFile\nversion=1\nCID=12345678\n"
            "parentCID=ffffffff\ncreateType=\"streamOptimized\"\n"
            "RW %d SPARSE \"x.vmdk\"\n" % (os.path.getsize(disk) // 512))
    with open(path, "wb") as f:
        def pad(data):
            f.write(data + bytes(-len(data) % 512))

        pad(sparse_header(disk, stream, 3, 0x30001, packed=1))
        pad(text.encode().ljust(127 * 512, b"\0"))
        for i, grain in enumerate(clusters(disk, 65536)):
            table.append(f.tell() // 512 if grain else 0)
            if grain:
                packed = zlib.compress(grain)
                pad(struct.pack("<QI", 128 * i, len(packed)) + packed)
        pad(struct.pack("<QII", 4, 0, 1))
        at = f.tell() // 512
        pad(struct.pack("<%dI" % len(table), *table).ljust(2048, b"\0"))
        pad(struct.pack("<QII", 1, 0, 2))
        pad(struct.pack("<I", at))
        pad(struct.pack("<QII", 1, 0, 3))
        pad(sparse_header(disk, at + 5, 3, 0x30001, packed=1))
        pad(bytes(512))


globals()[sys.argv[1]](*sys.argv[2:])

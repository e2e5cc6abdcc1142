#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the corpora of the fuzz targets for images.

    make-seeds.py DIRECTORY

DIRECTORY/NAME/ gets the corpus of fuzz-NAME.c.  Images are written as pieces,
which fuzz.h expands, to keep them small: between pieces there are zeros.
"""

import os
import re
import struct
import sys
import zlib

SECTOR, KIB, MIB = 512, 1024, 1024 * 1024


def pieces(size, contents):
    """An image of SIZE bytes with CONTENTS, {offset: bytes}, without the zeros
    between them."""
    out = b"PIECES\r\n" + struct.pack("<I", size)
    for offset, data in contents.items():
        for piece in re.finditer(rb"[^\0](?:\0{0,15}[^\0])*", data):
            out += struct.pack("<IH", offset + piece.start(),
                               len(piece.group())) + piece.group()
    return out


def fields(size, values):
    """SIZE bytes with VALUES, {offset: bytes}."""
    out = bytearray(size)
    for offset, data in values.items():
        out[offset:offset + len(data)] = data
    return bytes(out)


def be32(*values):
    return struct.pack(">%dI" % len(values), *values)


def be64(*values):
    return struct.pack(">%dQ" % len(values), *values)


def le32(*values):
    return struct.pack("<%dI" % len(values), *values)


def le64(*values):
    return struct.pack("<%dQ" % len(values), *values)


# ---- qcow2 ----------------------------------------------------------------

COPIED, COMPRESSED, ZERO = 1 << 63, 1 << 62, 1
# A frame of zstd with the letter z, 512 times.
RLE = bytes.fromhex("28b52ffd 60 0001 031000") + b"z"


def qcow2(l2, version=3, bits=9, clusters=8, size=None, features=0,
          extensions=b"", backing=b"", compression=0, contents=None, cut=0):
    """Cluster 0 is the header, 1 the L1 table, 2 the L2 table with the entries
    L2; data begins at cluster 3."""
    cluster = 1 << bits
    length = 112 if version == 3 else 72
    header = {0: b"QFI\xfb" + be32(version), 20: be32(bits),
              24: be64(size if size is not None else len(l2) * cluster),
              36: be32(1), 40: be64(cluster)}
    if version == 3:
        header.update({72: be64(features), 100: be32(length),
                       104: bytes([compression]), length: extensions})
        if extensions:
            header[88] = be64(1)
    if backing:
        at = cluster - len(backing)
        header.update({8: be64(at) + be32(len(backing)), at: backing})
    return pieces(clusters * cluster - cut, {
        0: fields(cluster, header), cluster: be64(COPIED | 2 * cluster),
        2 * cluster: be64(*l2), **(contents or {})})


def extension(kind, data):
    return be32(kind, len(data)) + data.ljust((len(data) + 7) // 8 * 8, b"\0")


def qcow2_seeds():
    packer = zlib.compressobj(9, zlib.DEFLATED, -12)
    packed = packer.compress(b"blkhash" * 73 + b"!") + packer.flush()
    data = [COPIED | n * 512 for n in (3, 4, 0, 5)]
    yield "plain", qcow2(data)
    yield "version-2", qcow2(data, version=2)
    yield "zeros", qcow2([ZERO, COPIED | 3 * 512 | ZERO, 0, 0])
    yield "large-clusters", qcow2([COPIED | 3 << 16], bits=16, clusters=4)
    yield "short", qcow2(data, size=3 * 512 + 7)
    yield "cut", qcow2(data, clusters=5)
    yield "hole", qcow2([], size=32 * KIB)
    # With clusters of 512 bytes offsets end at bit 60; bit 61 adds a sector.
    for name, compression, stream in ("zlib", 0, packed), ("zstd", 1, RLE):
        how = {"compression": compression, "features": 8 * compression}
        yield name, qcow2([COMPRESSED | 3 * 512], clusters=4, **how,
                          contents={3 * 512: stream})
        for more in 0, 1:
            yield "%s-cut-%d" % (name, more), qcow2(
                [COMPRESSED | 1 << 61 | 3 * 512 + 5], clusters=4, **how,
                cut=512 - 5 - len(stream) + more,
                contents={3 * 512 + 5: stream})
    yield "subclusters", qcow2(
        [COPIED | 3 << 14, 0xffffffff, COPIED | 4 << 14, 0xffff0000 << 32,
         0, 1 << 32], bits=14, clusters=5, size=3 << 14, features=16)
    yield "backing", qcow2([0, 0], backing=b"base.img", extensions=extension(
        0xe2792aca, b"raw"))
    yield "data-file", qcow2(data, features=4, extensions=extension(
        0x44415441, b"data.raw"))
    directory = be64(4 * 512) + be32(1, 0) + b"\1\20" + be32(0x0400) + b"b001"
    yield "bitmap", qcow2(
        [COPIED | 5 * 512], clusters=6, extensions=extension(
            0x23852875, be32(1, 0) + be64(len(directory), 3 * 512)),
        contents={3 * 512: directory, 4 * 512: be64(1)})


# ---- vmdk -----------------------------------------------------------------


def descriptor(*extents, parent=b"parentCID=ffffffff\n"):
    return (b"# Disk DescriptorFile\nversion=1\nCID=12345678\n" + parent +
            b'createType="monolithicSparse"\n# Extent description\n' +
            b"".join(e + b"\n" for e in extents) +
            b'\nddb.adapterType = "ide"\n')


def sparse_vmdk(size, text, grains, flags=1, compressed=0, capacity=300,
                directory=21, sectors=20, contents=None):
    """Sector 0 is the header, 1 to 20 are the descriptor, 21 is the directory,
    22 the only table."""
    header = fields(SECTOR, {
        0: b"KDMV" + le32(1, flags) + le64(capacity, 128, 1, sectors) + le32(16),
        56: le64(directory), 77: struct.pack("<H", compressed)})
    return pieces(size, {0: header, SECTOR: text, 21 * SECTOR: le32(22),
                         22 * SECTOR: le32(*grains), **(contents or {})}), \
        header


def vmdk_seeds():
    itself = descriptor(b'RW 300 SPARSE "disk.vmdk"')
    full = 24 * SECTOR + 3 * 64 * KIB
    yield "plain", sparse_vmdk(full, itself, (24, 0, 152))[0]
    yield "zero-grains", sparse_vmdk(full, itself, (1, 24), flags=5)[0]
    yield "cut", sparse_vmdk(26 * SECTOR, itself, (24,))[0]
    grain = le64(0) + le32(len(zlib.compress(bytes(64 * KIB)))) + \
        zlib.compress(bytes(64 * KIB))
    yield "compressed", sparse_vmdk(
        25 * SECTOR, itself, (24,), flags=0x30001, compressed=1,
        contents={24 * SECTOR: grain})[0]
    _, footer = sparse_vmdk(0, itself, (), flags=0x30001, compressed=1)
    yield "footer", sparse_vmdk(
        28 * SECTOR, itself, (24,), flags=0x30001, compressed=1,
        directory=2**64 - 1,
        contents={24 * SECTOR: grain, 26 * SECTOR: footer})[0]
    yield "no-footer", sparse_vmdk(28 * SECTOR, itself, (24,), flags=0x30001,
                                   directory=2**64 - 1)[0]
    yield "part", sparse_vmdk(full, b"", (24,))[0]
    yield "large-descriptor", sparse_vmdk(
        full, descriptor(b'RW 300 SPARSE "/a/disk.vmdk"'), (24,), sectors=40,
        contents={40 * SECTOR: b'parentFileNameHint="base.vmdk"'})[0]
    yield "no-capacity", sparse_vmdk(
        full, descriptor(b'RW 8 FLAT "secret" 0'), (), capacity=0)[0]
    yield "parent", sparse_vmdk(full, descriptor(
        b'RW 300 SPARSE "disk.vmdk"',
        parent=b'parentCID=12345678\nparentFileNameHint="base.vmdk"\n'),
        (24,))[0]
    yield "extents", descriptor(b'RW 8 FLAT "a-flat.vmdk" 0',
                                b'RW 8 VMFS "b"', b'RW 8 SPARSE "c"',
                                b'RW 8 SESPARSE "d"')
    yield "zero-extent", descriptor(b"RW 8 ZERO")
    yield "cowd", pieces(40 * SECTOR, {0: b"COWD" + le32(1, 3, 300, 1, 8, 16)})


# ---- vhdx -----------------------------------------------------------------

REGIONS, METADATA, BAT = 192 * KIB, MIB, 2 * MIB
GUIDS = {
    "bat": "6677c22d23f600429d64115e9bfd4a08",
    "metadata": "06a27c8b90479a4bb8fe575f050f886e",
    "parameters": "3767a1ca36fa434db3b633f0aa44e76b",
    "size": "2442a52f1bcd7648b2115dbed83bf4b8",
    "sector": "1dbf41816fa90947ba47f233a8faab5f",
}


def guid(name):
    return bytes.fromhex(GUIDS[name])


def vhdx(blocks, size=10 * MIB, block_size=MIB, flags=0, sector=512,
         file_size=8 * MIB):
    items = {"parameters": le32(block_size, flags), "size": le64(size),
             "sector": le32(sector)}
    table, values, at = b"metadata" + struct.pack("<HH20x", 0, 3), b"", 65536
    for name, value in items.items():
        table += guid(name) + le32(at + len(values), len(value), 0, 0)
        values += value
    return pieces(file_size, {
        0: b"vhdxfile",
        REGIONS: b"regi" + le32(0, 2, 0) + guid("bat") + le64(BAT) +
        le32(MIB, 1) + guid("metadata") + le64(METADATA) + le32(MIB, 1),
        METADATA: table, METADATA + 65536: values, BAT: le64(*blocks)})


def vhdx_seeds():
    yield "empty", vhdx([0] * 10)
    yield "states", vhdx([0, 1, 2, 3, 5, 5 * MIB | 6, 6 * MIB | 6, 4 * MIB | 6,
                          0, 7 * MIB | 6])
    yield "short", vhdx([7 * MIB | 6], size=MIB - 512, file_size=8 * MIB - 512)
    yield "chunks", vhdx([0] * 16 + [7] + [2] * 17, size=33 << 28,
                         block_size=256 * MIB)
    yield "partial", vhdx([7 * MIB | 7] + [0] * 9)
    yield "outside", vhdx([8 * MIB | 6] + [0] * 9)
    yield "parent", vhdx([0] * 10, flags=2)
    yield "big-sectors", vhdx([0] * 10, sector=4096)
    yield "too-large", vhdx([], size=64 << 40)


# ---- All probed formats ---------------------------------------------------


def vpc(kind):
    footer = fields(512, {0: b"conectix" + be32(2, 0x10000) + be64(512),
                          48: be64(MIB), 60: be32(kind)})
    header = fields(1024, {0: b"cxsparse" + be64(2**64 - 1, 1536),
                           24: be32(0x10000, 1, 2 * MIB)})
    return footer + header + b"\xff" * 512 + footer


def other_seeds():
    yield "vdi", pieces(3 * MIB, {
        0: fields(512, {64: b"\x7f\x10\xda\xbe", 340: le32(512, MIB),
                        368: le64(2 * MIB) + le32(MIB, 0, 2)}),
        512: le32(0, 2**32 - 1)})
    for kind in 2, 3, 4:
        yield "vpc-%d" % kind, vpc(kind)
    yield "qcow", fields(4096, {0: b"QFI\xfb" + be32(1), 24: be64(MIB),
                                32: b"\x0c\x09", 40: be64(48)})
    yield "qed", b"QED\0" + le32(65536, 4, 1).ljust(124, b"\0")
    yield "parallels", b"WithoutFreeSpace" + le32(2, 16, 63, 8, 10).ljust(
        48, b"\0")
    yield "luks", b"LUKS\xba\xbe\0\1".ljust(600, b"\0")
    yield "luks2", b"LUKS\xba\xbe\0\2".ljust(600, b"\0")
    yield "bochs", fields(512, {0: b"Bochs Virtual HD Image\0",
                                32: b"Redolog\0", 48: b"Growing\0",
                                64: le32(0x20000)})
    yield "cloop", (b"#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0 && "
                    b"mount -r -t iso9660 /dev/cloop $1\n").ljust(
                        128, b"\0") + be32(65536, 3)
    yield "dmg", bytes(512) + b"koly" + be32(4, 512).ljust(508, b"\0")
    yield "manifest", b"blkhash-manifest 1\n".ljust(512, b"\0")
    yield "raw", b"\xeb\x3c\x90MSDOS".ljust(510, b"\0") + b"\x55\xaa"


def probe_seeds():
    for made in qcow2_seeds, vmdk_seeds, vhdx_seeds:
        for name, data in made():
            yield made.__name__.replace("_seeds", "-") + name, data
    yield from other_seeds()


# ---- Formats other than these three ----------------------------------------


def formats_seeds():
    yield from other_seeds()
    yield "vpc-data", pieces(64 * KIB, {
        0: vpc(3)[:512], 512: fields(1024, {
            0: b"cxsparse" + be64(2**64 - 1, 1536),
            24: be32(0x10000, 3, 4096)}), 1536: be32(2**32 - 1, 4, 20)})


SEEDS = {"formats": formats_seeds, "probe": probe_seeds, "qcow2": qcow2_seeds,
         "vhdx": vhdx_seeds, "vmdk": vmdk_seeds}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for target, made in SEEDS.items():
        directory = os.path.join(sys.argv[1], target)
        os.makedirs(directory, exist_ok=True)
        for name, data in made():
            with open(os.path.join(directory, name), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()

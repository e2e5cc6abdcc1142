#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a manifest from a fixed index of Proxmox Backup Server.

    fidx2blkm.py drive-scsi0.img.fidx backup.blkm &&
    blkhash compare manifest:backup.blkm /dev/vg/vm-100-disk-0

A fixed index has the SHA-256 of each chunk of a disk, typically of 4 MiB.
These are the leaves of the disk with the digest sha256/4m.  So a disk, or what
was restored, is checked against its backup, and no chunk is read: this does not
show that the chunks are there and right, for which the server has its own
verification.

The digests of an encrypted backup are those of the data and a secret, and the
index does not say so.  Only the list of the files of the snapshot does: it is
index.json.blob beside the index, or what

    proxmox-backup-client restore SNAPSHOT index.json -

prints, for --index-json.  An index that is not in that list is refused.

The formats are those that Proxmox publishes (docs/file-formats.html of Proxmox
Backup Server) and its source.  No server was run.

The exit status is 0, or 2 if there is no manifest.
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib
from typing import Any

import blkhash

# All numbers are little-endian.  Magic, uuid, ctime, SHA-256 of all that
# follows the header, size of the disk, size of a chunk; padded to a page.
HEADER = struct.Struct("<8s16sq32sQQ4016x")
FIDX = bytes((47, 127, 65, 237, 145, 253, 15, 205))
# Magic, CRC-32 of the rest.
BLOB = struct.Struct("<8sI")
PLAIN = bytes((66, 171, 56, 7, 190, 131, 112, 161))
ZSTD = bytes((49, 185, 88, 66, 111, 182, 163, 127))
# Those that its client offers: powers of two up to 4 MiB.
CHUNK_SIZES = [1024 << n for n in range(6, 13)]
DIGEST_SIZE = 32
DIGESTS = 256                   # that are read at a time


class Failure(Exception):
    """A file that cannot be used."""


def read_list(path: str) -> list[Any]:
    """The files of a snapshot, from a blob or the JSON in it."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] in (PLAIN, ZSTD) and len(data) >= BLOB.size:
        magic, crc = BLOB.unpack_from(data)
        data = data[BLOB.size:]
        if zlib.crc32(data) != crc:
            raise Failure(f"{path}: its checksum is wrong")
        if magic == ZSTD:
            data = subprocess.run(["zstd", "-dcq"], input=data, check=True,
                                  stdout=subprocess.PIPE).stdout
    try:
        return list(json.loads(data)["files"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Failure(f"{path}: it is no list of the files of a snapshot")


def require_plain(path: str, csum: bytes, size: int) -> None:
    """Fails unless the list at PATH has the index, and as one of plain data."""
    found = [entry for entry in read_list(path)
             if isinstance(entry, dict) and entry.get("csum") == csum.hex()
             and entry.get("size") == size]
    if not found:
        raise Failure(f"{path}: it does not list the index, of {size} bytes "
                      f"and with the checksum {csum.hex()}")
    for entry in found:
        mode = entry.get("crypt-mode")
        if mode == "encrypt":
            raise Failure(f"{path}: the backup is encrypted, so the digests "
                          "are not those of the disk")
        if mode not in ("none", "sign-only"):
            raise Failure(f"{path}: it does not say whether the backup is "
                          "encrypted")


def convert(args: argparse.Namespace) -> str:
    """Writes the manifest, and returns the sum in it."""
    with open(args.index, "rb") as file:
        header = file.read(HEADER.size)
        if len(header) != HEADER.size or header[:8] != FIDX:
            raise Failure(f"{args.index}: it is no fixed index")
        _, _, _, csum, size, chunk_size = HEADER.unpack(header)
        if chunk_size not in CHUNK_SIZES:
            raise Failure(f"{args.index}: chunks of {chunk_size} bytes")
        chunks = -(-size // chunk_size)
        length = HEADER.size + chunks * DIGEST_SIZE
        if os.fstat(file.fileno()).st_size != length:
            raise Failure(f"{args.index}: it has not {chunks} digests")
        require_plain(args.index_json, csum, size)

        spec = f"sha256/{chunk_size // 1024}k"
        index = hashlib.sha256()
        with blkhash.Leaves(spec, size) as leaves:
            offset = 0
            while digests := file.read(DIGESTS * DIGEST_SIZE):
                index.update(digests)
                # The digest of a chunk of zeros becomes zeros.
                leaves.put_leaves(offset, digests)
                offset += len(digests) // DIGEST_SIZE * chunk_size
            if index.digest() != csum:
                raise Failure(f"{args.index}: its checksum is wrong")
            # An error if a digest is missing.
            digest = leaves.write_manifest(args.manifest)
            return f"blk-{leaves.spec} = {digest.hex()}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a manifest from a fixed "
                                     "index of Proxmox Backup Server.")
    parser.add_argument("--index-json", metavar="FILE",
                        help="default: index.json.blob beside INDEX")
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("manifest", metavar="MANIFEST")
    args = parser.parse_args()
    if args.index_json is None:
        args.index_json = os.path.join(os.path.dirname(args.index),
                                       "index.json.blob")
    try:
        print(convert(args))
    except (Failure, OSError, ValueError,
            subprocess.CalledProcessError) as error:
        print(f"fidx2blkm.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

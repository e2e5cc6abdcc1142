#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the sum of an NBD export, the same as blksum, with libnbd's Python.

A leaf table takes the data of an image in any order.  So several reads are in
flight, and each is hashed when its reply has come, while the server works on
the others.

A range is not read if the server says that it reads as zeros.  A hole alone
says only that no storage is allocated, so it is read.  If the server has no
base:allocation, all is read.

Any error ends the program without a sum.  The exit status is 0, or 2.
"""

import argparse
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

import blkhash
import nbd  # type: ignore

REQUEST = 256 * 1024            # most bytes of a read
STATUS = 1024 ** 3              # most bytes of a request for extents


class Failure(Exception):
    """A reply that cannot be used."""


def extents(server: nbd.NBD) -> Iterator[tuple[int, int, bool]]:
    """The ranges of the export in order: start, end, and whether it is zeros.

    The reply can be shorter than what was asked for, and its last extent can
    end after it, even after the export.
    """
    offset, size = 0, server.get_size()
    while offset < size:
        replies: list[list[int]] = []

        def reply(context: str, start: int, values: list[int],
                  error: Any) -> int:
            if context == nbd.CONTEXT_BASE_ALLOCATION:
                replies.append(values)
            return 0

        server.block_status(min(STATUS, size - offset), offset, reply)
        if len(replies) != 1 or not any(replies[0][::2]):
            raise Failure(f"cannot get extents at offset {offset}")
        for length, flags in zip(replies[0][::2], replies[0][1::2]):
            end = min(offset + length, size)
            if offset < end:
                yield offset, end, bool(flags & nbd.STATE_ZERO)
            offset = end


class Reader:
    """Reads of an export that are in flight, and the leaf table they fill."""

    def __init__(self, server: nbd.NBD, leaves: blkhash.Leaves, depth: int):
        self.server = server
        self.leaves = leaves
        self.depth = depth
        self.done: list[tuple[int, int, bytearray]] = []

    def read(self, offset: int, length: int) -> None:
        self.wait(self.depth - 1)
        data = bytearray(length)
        missing = length

        # libnbd holds the lock of its handle in these: hash later.

        def chunk(part: memoryview, at: int, status: int, error: Any) -> int:
            nonlocal missing
            if status in (nbd.READ_DATA, nbd.READ_HOLE):
                missing -= len(part)
            return 0

        def completed(error: Any) -> int:
            # Versions of libnbd accept a reply with less than was asked for.
            status = error.value or (errno.EPROTO if missing else 0)
            self.done.append((status, offset, data))
            # 1 retires the command.  After an error the connection does that.
            return int(status == 0)

        self.server.aio_pread_structured(nbd.Buffer.from_buffer(data), offset,
                                         chunk, completed)

    def wait(self, most: int) -> None:
        """Hashes replies until at most MOST reads are in flight."""
        while True:
            for error, offset, data in self.done:
                if error:
                    raise Failure(f"cannot read at offset {offset}: "
                                  f"{os.strerror(error)}")
                self.leaves.put(offset, data)
            self.done.clear()
            if self.server.aio_in_flight() <= most:
                break
            self.server.poll(-1)


def hash_export(args: argparse.Namespace) -> str:
    server = nbd.NBD()
    if not args.no_extents:
        server.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    server.connect_uri(args.uri)
    size = server.get_size()
    request = min(REQUEST, server.get_block_size(nbd.SIZE_MAXIMUM) or REQUEST)

    ranges: Iterator[tuple[int, int, bool]] = iter([(0, size, False)])
    if not args.no_extents and \
       server.can_meta_context(nbd.CONTEXT_BASE_ALLOCATION):
        ranges = extents(server)

    with blkhash.Leaves(args.digest, size) as leaves:
        reader = Reader(server, leaves, args.depth)
        for start, end, zeros in ranges:
            if zeros:
                leaves.zero(start, end - start)
                continue
            while start < end:
                # Ends at a multiple of the size, so that few blocks are cut.
                length = min(request - start % request, end - start)
                reader.read(start, length)
                start += length
        reader.wait(0)
        server.aio_disconnect()
        # An error if a byte of the image was not given.
        return leaves.sum().hex()


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the sum of an NBD "
                                     "export, the same as blksum.")
    parser.add_argument("-d", "--digest", metavar="SPEC", default="sha256/64k",
                        help="DIGEST[/SIZE[/sN|/linear]]; default sha256/64k")
    parser.add_argument("--depth", metavar="N", type=int, default=16,
                        help="reads in flight; default 16")
    parser.add_argument("--no-extents", action="store_true",
                        help="read holes and zeros too")
    parser.add_argument("uri", metavar="URI")
    args = parser.parse_args()
    if args.depth < 1:
        parser.error("--depth must be at least 1")
    try:
        print(f"{hash_export(args)}  {args.uri}")
    except (Failure, nbd.Error, OSError, ValueError) as error:
        print(f"hash-nbd.py: {args.uri}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Judges a change tracker: prints what changed, and is not in its list.

OLD and NEW are the manifests of a disk before and after the changes, made by
reading the whole disk, and CHANGES is the list of the tracker: the output of

    nbdinfo --json --map=qemu:dirty-bitmap:NAME URI
    blkhash compare --output=json A B

A range that is printed was missed, so an incremental backup that uses the
tracker lacks it.  Blocks are the unit: a block that a listed range touches is
listed.

The exit status is 0 if no range was missed, 1 if one was, and 2 if that cannot
be known: a manifest or the list cannot be used, or the manifests end in blocks
of different sizes, whose digests show nothing about what both have.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import blkhash

BEYOND = 2 ** 64                # the end of any disk


class Failure(Exception):
    """A list that can be incomplete, or that of another disk."""


def number(row: Any, key: str) -> int:
    value = row.get(key) if isinstance(row, dict) else None
    if type(value) is not int or value < 0:
        raise Failure(f"a range without the number '{key}'")
    return value


def compared(changes: dict[str, Any], size: int) -> Iterator[tuple[int, int]]:
    """The changed ranges in what blkhash compare prints."""
    rows = changes.get("ranges")
    if not isinstance(rows, list) or \
       changes.get("result") != ("differs" if rows else "ok"):
        raise Failure("not a comparison that has ended")
    if changes.get("compared-bytes") != size:
        raise Failure(f"not a comparison of {size} bytes")
    for row in rows:
        start, length = number(row, "start"), number(row, "length")
        if length == 0 or start + length > size:
            raise Failure(f"a wrong range at {start}")
        yield start, start + length


def mapped(rows: list[Any], size: int) -> Iterator[tuple[int, int]]:
    """The changed ranges in what nbdinfo prints of a dirty bitmap.

    Without a bitmap its list has the same form, and bit 0 means a hole.
    """
    end = 0
    for row in rows:
        start, end = end, end + number(row, "length")
        if number(row, "offset") != start or start == end:
            raise Failure(f"no range that begins at {start}")
        dirty = number(row, "type") & 1
        if row.get("description") != ("dirty" if dirty else "clean"):
            raise Failure("not of a dirty bitmap")
        if dirty:
            yield start, end
    if end != size:
        raise Failure(f"ends at {end}, and the disk at {size}")


def read_changes(path: str, size: int) -> list[tuple[int, int]]:
    """The changed ranges in a file, as start and end, in order."""
    try:
        with open(path, "rb") as file:
            changes = json.load(file)
        if isinstance(changes, dict):
            return sorted(compared(changes, size))
        if isinstance(changes, list):
            return list(mapped(changes, size))
        raise Failure("not a list of changes")
    except RecursionError:
        raise Failure(f"{path}: not a list of changes") from None
    except (Failure, ValueError) as error:
        raise Failure(f"{path}: {error}") from None


def outside(ranges: Iterable[tuple[int, int]],
            changes: Iterable[tuple[int, int]],
            unit: int) -> Iterator[tuple[int, int]]:
    """The parts of ranges of blocks that no change touches; all in order."""
    blocks = ((first - first % unit, last + -last % unit)
              for first, last in changes)
    first = last = 0
    for start, length in ranges:
        end = start + length
        while start < end:
            while last <= start:
                first, last = next(blocks, (BEYOND, BEYOND))
            if start < first:
                yield start, min(first, end)
            start = last


def judge(args: argparse.Namespace) -> bool:
    """Prints the missed ranges; returns whether there was one."""
    missed = False
    old, new = blkhash.Manifest(args.old), blkhash.Manifest(args.new)
    if not (old.complete and new.complete):
        raise Failure("a manifest is that of a part of a disk")
    changes = read_changes(args.changes, max(old.size, new.size))
    # What is printed is proven, but that it is all only when this has ended.
    for start, end in outside(old.differences(new), changes, new.block_size):
        print(f"{end - start} bytes at {start} differ; in no list of changes")
        missed = True
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description="Print what changed between "
                                     "two manifests, and is not in a list.")
    for name in "old", "new", "changes":
        parser.add_argument(name, metavar=name.upper())
    args = parser.parse_args()
    try:
        return int(judge(args))
    except (Failure, blkhash.UnknownDifference, OSError,
            ValueError) as error:
        print(f"judge.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

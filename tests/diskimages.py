# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random content of disks, for tests that make the same disk in several forms.

Content is a list of segments, as for reference.py: bytes, or the length of a
hole.
"""

import os

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def few_pieces(rng, size):
    """Yields where a large disk has data: little, and some at both ends."""
    yield 0, rng.randrange(1, 100 * KIB)
    step = size // 4
    for at in range(step, size - step, step):
        yield at + rng.randrange(step // 2), rng.randrange(1, 60 * KIB)
    yield size - 1, 1


def many_pieces(rng, size):
    """Yields where a small disk has data."""
    at = 0
    while at < size:
        length = min(size - at, rng.choice((1, 512, 4 * KIB, 40 * KIB,
                                            rng.randrange(1, 200 * KIB))))
        if rng.random() < 0.6:
            yield at, length
        at += length


def random_segments(rng, size):
    """The content of a disk of SIZE bytes."""
    segments, end = [], 0
    pieces = few_pieces if size >= GIB else many_pieces
    for at, length in pieces(rng, size):
        if at > end:
            segments.append(at - end)
        segments.append(rng.randbytes(length))
        end = at + length
    if end < size:
        segments.append(size - end)
    return segments


def flip(segments, offset):
    """The same, with the byte at OFFSET changed."""
    changed, at = [], 0
    for segment in segments:
        length = segment if isinstance(segment, int) else len(segment)
        if at <= offset < at + length:
            before = offset - at
            if isinstance(segment, int):
                changed += [before, b"\1", length - before - 1]
            else:
                byte = bytes([segment[before] ^ 0x80])
                changed.append(segment[:before] + byte + segment[before + 1:])
        else:
            changed.append(segment)
        at += length
    return [s for s in changed if s != 0]


def write_file(path, segments, size):
    """From the end of the segments to SIZE the file has a hole."""
    with open(path, "wb") as f:
        for segment in segments:
            if isinstance(segment, int):
                f.seek(segment, os.SEEK_CUR)
            else:
                f.write(segment)
        f.truncate(size)

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disks of a warm migration, for test-migration.py: the machine
that writes to the source, with its change tracker; what a manifest describes;
and how often an audit finds a wrong one."""

import fractions
import math

import refmanifest

UNIT = 65536                    # audits read at least that much at once


def segments(disk):
    """For reference.py and refmanifest.py: zeros by their length."""
    zeros = bytes(UNIT)
    for start in range(0, len(disk), UNIT):
        part = disk[start:start + UNIT]
        yield len(part) if part == zeros[:len(part)] else bytes(part)


def write_sparse(path, disk):
    with open(path, "wb") as f:
        for part in segments(disk):
            if isinstance(part, int):
                f.seek(part, 1)
            else:
                f.write(part)
        f.truncate(len(disk))


def manifest(disk, block_size):
    return refmanifest.write(segments(disk), block_size=block_size)


def blocks_of(ranges, size):
    """The numbers of the blocks of SIZE that ranges (start, length) touch."""
    return {n for start, length in ranges
            for n in range(start // size, -(-(start + length) // size))}


class Machine:
    """It writes to the source, to some places again and again.  Its tracker has
    a granularity."""

    def __init__(self, rng, size):
        self.rng, self.disk = rng, bytearray(size)
        self.granularity = rng.choice((512, 4096, 65536, 65536))
        self.changed = set()
        self.often = [rng.randrange(size) for _ in range(3)]
        for start in range(0, size, UNIT):
            if rng.random() < 0.3:
                data = rng.randbytes(4096)[:size - start]
                self.disk[start:start + len(data)] = data

    def write(self, start, data):
        data = data[:len(self.disk) - start]
        self.disk[start:start + len(data)] = data
        self.changed |= blocks_of([(start, len(data))], self.granularity)

    def write_some(self):
        """One of the writes changes a whole unit."""
        rng, size = self.rng, len(self.disk)
        for _ in range(rng.randrange(8)):
            start = rng.choice((rng.randrange(size), *self.often))
            length = rng.choice((1, 512, 5000, 70000, 200000))
            if rng.random() < 0.5:
                start = start // 512 * 512
            kind = rng.random()
            if kind < 0.2:      # the same as before
                self.write(start, self.disk[start:start + length])
            else:
                self.write(start, bytes(length) if kind < 0.5 else
                           rng.randbytes(length))
        self.write(rng.randrange(size // UNIT) * UNIT, rng.randbytes(UNIT))

    def take_changes(self):
        """What has changed since the last call: ranges that are not
        adjacent."""
        ranges, size = [], self.granularity
        for n in sorted(self.changed):
            end = min((n + 1) * size, len(self.disk))
            if ranges and sum(ranges[-1]) == n * size:
                ranges[-1] = ranges[-1][0], end - ranges[-1][0]
            else:
                ranges.append((n * size, end - n * size))
        self.changed = set()
        return ranges


# ---- The formula of the audit ----

class Audit:
    """SHARE ("N%") of the units that are trusted is read.  WRONG are those that
    differ from the manifest."""

    def __init__(self, share, trusted, wrong):
        count, wanted = len(trusted), fractions.Fraction(share[:-1]) / 100
        least = max(math.ceil(count * wanted), 64) if wanted else 0
        least = min(least, count)
        self.lowest = self.exact = 0
        if least == 0:
            return
        self.lowest = 1 - (1 - least / count)**len(wrong)
        missed, length = 1, count // least
        for i in range(0, count, length):
            stratum = trusted[i:i + length]
            missed *= 1 - len(wrong.intersection(stratum)) / len(stratum)
        self.exact = 1 - missed


def at_most(probabilities, limit):
    """The probability that at most LIMIT of independent events occur."""
    counts = [1.0]
    for p in probabilities:
        counts = [a * (1 - p) + b * p for a, b in
                  zip([*counts, 0], [0, *counts])]
    return sum(counts[:limit + 1])


def is_plausible(audits, found, seldom):
    """Were wrong manifests found as often as the manuals say?  It is false by
    chance with a probability of at most SELDOM."""
    less = at_most([audit.lowest for audit in audits], found)
    more = 1 - at_most([audit.exact for audit in audits], found - 1)
    return min(less, more) >= seldom / 2

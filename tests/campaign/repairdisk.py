# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A random disk of the campaign of online repair: what is damaged, which blocks
the repair sources have, and how reads of it must end."""

import random

from repairsource import MAY, NO, YES, View
from server import Failed
from verifydisk import Disk
from verifyfiles import FAIL, PASS
from verifyfiles import MAY as EITHER

class PluginFault:
    """A line of the faults of the plugin."""

    def __init__(self, kind, start, end, times):
        self.kind, self.start, self.end = kind, start, end
        self.times = times

    def __str__(self):
        return "%s %d %d %d" % (self.kind, self.start, self.end, self.times)


class RepairDisk(Disk):
    """.outcomes is how a read of a block ends with the repair sources, .base
    without them."""

    def __init__(self, params, directory):
        super().__init__(params, "", directory)
        rng = self.rng
        if not params.flaky:
            self.faults, self.wrong = [], bytearray(self.truth)
        view = View(self, rng)
        view.damage(params.damages)
        self.damaged = bytes(self.other if params.is_other else view.wrong)
        self.extra = rng.randbytes(rng.randrange(1, 5000)) \
            if params.truncate else b""
        self.special = [self.unreadable() for _ in range(
            rng.choice((0, 0, 1, 4)) if params.unreadable else 0)]
        self.max_read = 0               # of the plugin; 0: no limit
        self.write_damaged()

    def any_disk(self):
        rng = self.rng
        block_size = 1 << rng.randrange(9, 18)
        size = rng.randrange(1, min(400 * block_size, 2 << 20))
        return self.any_content(size), block_size

    def any_range(self):
        start = self.rng.randrange(len(self.truth))
        return start, min(len(self.truth), start + self.rng.choice(
            (1, self.block_size, 5 * self.block_size)))

    def unreadable(self):
        return PluginFault("fail", *self.any_range(), -1)

    def write_damaged(self):
        with open(self.path(".disk"), "wb") as f:
            f.write(self.damaged + self.extra)
        with open(self.path(".wrong"), "wb") as f:
            f.write(self.wrong + self.extra)
        with open(self.path(".faults"), "w") as f:
            f.writelines("%s\n" % fault for fault in self.all_faults())

    def all_faults(self):
        return self.faults + self.special

    def range_of(self, block):
        start = block * self.block_size
        return start, min(start + self.block_size, len(self.truth))

    def touches(self, block, kinds):
        """Faults of these kinds that touch BLOCK."""
        start, end = self.range_of(block)
        return [x for x in self.all_faults() if x.kind in kinds and
                x.start < end and start < x.end]

    def is_zero(self, block):
        start, end = self.range_of(block)
        return not any(self.truth[start:end])

    def is_skipped(self, block):
        """It is not read."""
        return self.params.zero == "skip" and self.is_zero(block)

    # ---- The model ----

    def is_damaged(self, block):
        start, end = self.range_of(block)
        return self.damaged[start:end] != self.truth[start:end]

    def read_once(self, block, left):
        """Is BLOCK right when it is read once, in as many requests as the plugin
        needs?  LEFT is how often each fault still occurs.  In a request all
        faults that it touches occur, and a request that fails ends the read."""
        start, end = self.range_of(block)
        step, right, fails = self.max_read or end - start, True, False
        while start < end and not fails:
            stop = min(start + step, end)
            for fault in left:
                if left[fault] and fault.start < stop and start < fault.end:
                    left[fault] -= 1
                    right &= fault.is_harmless(self, start, stop)
                    fails |= fault.kind == "fail"
            start = stop
        return right

    def is_transient(self, block):
        """Is BLOCK right in one of the retries, although faults of a limited
        number occur in the others?  In small requests the faults can occur one
        after the other, so this takes up to the sum of their numbers.  It takes
        fewer retries if other reads have met some of the faults before."""
        left = {x: x.times for x in self.faults if x.times > 0}
        return any(self.read_once(block, left)
                   for _ in range(self.params.retry + 1))

    def base_of(self, block):
        """How a read of the plugin ends."""
        if self.is_skipped(block):
            return PASS
        base = max((fault.outcome(self, *self.range_of(block))
                    for fault in self.faults if fault.times <= 0),
                   default=PASS)
        if not self.is_transient(block):
            base = max(base, EITHER)
        if any(x.times == -1 for x in self.touches(block, ("fail",))):
            return FAIL
        if self.is_damaged(block):
            # Other content can cover the damage.
            return EITHER if self.touches(block, ("replace", "short")) else FAIL
        return base

    def has_of(self, block):
        """Does one of the sources have it?  NO, MAY or YES."""
        if self.is_zero(block):
            return YES if self.sources else NO
        return max((source.has[block] for source in self.sources), default=NO)

    def outcome_of(self, block):
        base, has = self.base[block], self.has[block]
        if base == PASS or has == YES:
            return PASS
        if self.params.fail == "warn":
            failing = self.touches(block, ("fail",))
            if not failing:
                return PASS
            if all(x.times != -1 for x in failing):
                return EITHER
        return FAIL if base == FAIL and has == NO else EITHER

    def set_sources(self, sources):
        self.sources = sources
        blocks = range(self.blocks.count)
        self.base = [self.base_of(i) for i in blocks]
        self.has = [self.has_of(i) for i in blocks]
        self.outcomes = [self.outcome_of(i) for i in blocks]

    # ---- What clients got ----

    def may_be_refused(self):
        """With "stop", another client can have been refused already."""
        return self.params.fail == "stop" and max(self.outcomes) != PASS

    def compare(self, what, data, offset):
        if data == self.truth[offset:offset + len(data)]:
            return
        if self.params.fail != "warn":
            raise Failed("BAD BYTES DELIVERED: %s" % what)
        for block in range(offset // self.block_size,
                           (offset + len(data) - 1) // self.block_size + 1):
            start, end = self.range_of(block)
            start, end = max(start, offset), min(end, offset + len(data))
            part = data[start - offset:end - offset]
            if part == self.truth[start:end]:
                continue
            if self.base[block] == PASS or self.has[block] == YES:
                raise Failed("BAD BLOCK %d DELIVERED: %s" % (block, what))
            if any(byte not in (self.truth[i], self.damaged[i], self.wrong[i])
                   for i, byte in enumerate(part, start)) and \
               not self.touches(block, ("short",)):
                raise Failed("BAD BYTE IN %d DELIVERED: %s" % (block, what))

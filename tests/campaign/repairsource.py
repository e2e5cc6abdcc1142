# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random repair sources of the campaign of the verify filter: files that are
damaged, other disks, too small or too large, that are cut or overwritten while they
are used, or the disk itself; and which blocks each of them has."""

import os
import random
import threading
import types

from verifydisk import Fault

NO, MAY, YES = range(3)
KINDS = ["file"] * 6 + ["changed"] * 3 + ["self"]


class View:
    """What a Fault needs of a disk; it damages .wrong."""

    def __init__(self, disk, rng):
        self.rng, self.truth, self.other = rng, disk.truth, disk.other
        self.block_size, self.times = disk.block_size, (-1,)
        self.wrong = bytearray(self.truth)
        self.params = types.SimpleNamespace(retry=0)

    def damage(self, count):
        return [Fault(self) for _ in range(count)]


class Source:
    """One of DISK, a file PATH."""

    def __init__(self, disk, number, path):
        self.disk, self.path = disk, path
        self.rng = rng = random.Random("%d source %d" % (disk.params.seed,
                                                         number))
        self.kind = rng.choice(KINDS)
        self.view = View(disk, rng)
        self.make_content()
        if self.kind != "self":
            with open(path, "wb") as f:
                f.write(self.content)
        self.has = [self.has_block(i) for i in range(disk.blocks.count)]

    def __str__(self):
        return "source: %s, %d bytes, has %d, may have %d" % (
            self.kind, len(self.content), self.has.count(YES),
            self.has.count(MAY))

    def make_content(self):
        """Of about the disk; one of 8 is another disk."""
        rng, size = self.rng, len(self.disk.truth)
        if self.kind == "self":
            self.path, self.content = self.disk.path(".disk"), self.disk.damaged
            return
        self.view.damage(rng.choice((0, 1, 5, 30)))
        self.content = bytes(self.view.wrong)
        if rng.random() < 0.12:
            self.content = self.disk.other
        end = rng.choice((size, size, size, rng.randrange(size + 1)))
        self.content = self.content[:end]
        if rng.random() < 0.15:
            self.content += rng.randbytes(rng.randrange(1, 10000))

    def has_block(self, i):
        start, end = self.disk.range_of(i)
        if self.content[start:end] != self.disk.truth[start:end]:
            return NO
        return MAY if self.kind == "changed" else YES

    def disturb(self, ended):
        """What happens to the source at a random moment."""
        if self.kind != "changed" or \
           ended.wait(self.rng.choice((0, 0.01, 0.1)) * self.rng.random()):
            return
        if self.rng.random() < 0.5:
            os.truncate(self.path, self.rng.randrange(len(self.content) + 1))
        else:
            with open(self.path, "r+b") as f:
                f.write(self.disk.other)

    def begin(self):
        """Returns a function that ends what disturbs it."""
        ended = threading.Event()
        thread = threading.Thread(target=self.disturb, args=(ended,))
        thread.start()

        def end():
            ended.set()
            thread.join()
        return end

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random repair sources of the campaign of the verify filter: files and NBD
servers that are damaged, other disks, too small or too large, that fail, lie,
stall, or end; and which blocks each of them has."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import types

from server import LIMIT, Failed
from verifydisk import Fault

NO, MAY, YES = range(3)
LIES = ("half", "none", "hole", "empty", "long", "elsewhere", "error",
        "late-error", "simple-error", "cookie")
KINDS = ["file"] * 6 + ["cut", "self"] + ["nbd"] * 4 + [
    "faults", "faults", "lie", "lie", "die", "size", "constraints", "killed",
    "gone"]
STALLS = ["stopped", "hold-read", "hold-open"]
EVIL = os.path.join(os.path.dirname(__file__), "..", "evil-server.py")


class View:
    """What a Fault needs of a disk; it damages .wrong."""

    def __init__(self, disk, rng, times=(-1,)):
        self.rng, self.truth, self.other = rng, disk.truth, disk.other
        self.block_size, self.times = disk.block_size, times
        self.wrong = bytearray(self.truth)
        self.params = types.SimpleNamespace(retry=0)

    def damage(self, count):
        return [Fault(self) for _ in range(count)]


class Source:
    """One of DISK, with files in DIRECTORY.  It is started when it is made, and
    must be ended by end()."""

    def __init__(self, args, disk, number, directory, kind=None):
        self.args, self.disk, self.process = args, disk, None
        self.rng = rng = random.Random("%d source %d" % (disk.params.seed,
                                                         number))
        self.dir = os.path.join(directory, "source%d" % number)
        os.mkdir(self.dir)
        self.socket = os.path.join(self.dir, "nbd.sock")
        self.kind = kind or (rng.choice(STALLS) if rng.random() <
                             disk.params.stalls else rng.choice(KINDS))
        self.view = View(disk, rng, (-1, -1, 0, 1))
        self.make_content()
        if not self.content:
            self.kind = "file"          # a server cannot map it
        self.has = [self.has_block(i) for i in range(disk.blocks.count)]
        getattr(self, "start_" + self.kind.replace("-", "_"))()

    def is_server(self):
        return self.kind not in ("file", "cut", "self")

    def __str__(self):
        return "source: %s, %d bytes, has %d, may have %d" % (
            self.kind, len(self.content), self.has.count(YES),
            self.has.count(MAY))

    # ---- The content ----

    def make_content(self):
        """Of about the disk; one of 8 is another disk."""
        rng, size = self.rng, len(self.disk.truth)
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
        return YES if end <= len(self.content) and \
            self.content[start:end] == self.disk.truth[start:end] else NO

    def limit(self, has):
        self.has = [min(x, has) for x in self.has]

    def write(self, name="source"):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(self.content)
        return path

    # ---- Processes ----

    def run(self, *command):
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def wait_for(self, path):
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed("the source does not start: %s" % self)
            time.sleep(0.002)
        self.parameter = "repair-uri=nbd+unix:///?socket=" + self.socket

    def start_nbdkit(self, *arguments, wrapper=()):
        self.run(*wrapper, "nbdkit", "-f", "-r", "-U", self.socket, "-P",
                 self.socket + ".pid", *arguments)
        self.wait_for(self.socket + ".pid")

    def start_evil(self, *fault):
        self.run(sys.executable, EVIL, self.socket, self.write(), *fault)
        self.wait_for(self.socket)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    # ---- Kinds ----

    def start_file(self):
        self.parameter = "repair=" + self.write()

    def start_self(self):
        """The disk itself: a block of it is good, or no source is needed."""
        self.content = bytes(self.disk.damaged)
        self.has = [self.has_block(i) for i in range(self.disk.blocks.count)]
        self.parameter = "repair=" + self.disk.path(".disk")

    def start_cut(self):
        self.start_file()
        self.limit(MAY)

    def start_nbd(self):
        self.start_nbdkit("file", self.write())

    def start_faults(self):
        faults = self.view.damage(self.rng.choice((1, 5, 20)))
        wrong = bytes(self.view.wrong)[:len(self.content)]
        wrong += bytes(len(self.content) - len(wrong))
        self.write(".disk")
        with open(os.path.join(self.dir, ".wrong"), "wb") as f:
            f.write(wrong)
        with open(os.path.join(self.dir, ".faults"), "w") as f:
            f.writelines("%s\n" % fault for fault in faults)
        for i in range(self.disk.blocks.count):
            # What a fault returns instead can be right.
            start, end = self.disk.range_of(i)
            found = [x for x in faults if x.start < end and start < x.end]
            if any(x.kind == "fail" and x.times == -1 for x in found):
                self.has[i] = NO
            elif found:
                self.has[i] = MAY
        # The plugin was built with the sanitizer.
        self.start_nbdkit(self.args.plugin, "dir=" + self.dir,
                          wrapper=self.args.wrapper.split())

    def start_lie(self):
        lie = self.rng.choice(LIES)
        self.start_evil(lie)
        # libnbd fills what it has not got with zeros.
        self.limit(MAY if lie == "half" else NO)

    def start_die(self):
        self.start_evil("die", str(self.rng.randrange(1, 200000)))
        self.limit(MAY)

    def start_size(self):
        """Of the content, only a part, or more than there is."""
        size = self.rng.randrange(2 * len(self.content) + 2)
        self.start_evil("size", str(size))
        self.content = self.content[:size]
        self.has = [
            MAY if len(self.content) < self.disk.range_of(i)[1] <= size else
            self.has_block(i) for i in range(self.disk.blocks.count)]

    def start_constraints(self):
        least = 1 << self.rng.randrange(17)
        self.start_evil("block-size", "%d,%d,%d" % (
            least, max(512, least), max(65536, least)))
        if len(self.content) % least:
            self.limit(MAY)

    def start_killed(self):
        self.start_nbd()
        self.limit(MAY)

    def start_gone(self):
        self.parameter = "repair-uri=nbd+unix:///?socket=" + self.socket
        self.limit(NO)

    def start_stopped(self):
        self.start_nbd()
        self.process.send_signal(signal.SIGSTOP)
        self.limit(NO)

    def start_hold_read(self):
        self.start_evil("hold-read", os.path.join(self.dir, "reached"))
        self.limit(NO)

    def start_hold_open(self):
        self.start_evil("hold-open", os.path.join(self.dir, "reached"))
        self.limit(NO)

    # ---- While it is used ----

    def disturb(self, ended):
        """What happens to the source at a random moment."""
        if self.kind not in ("cut", "killed") or \
           ended.wait(self.rng.choice((0, 0.01, 0.1)) * self.rng.random()):
            return
        if self.kind == "killed":
            self.process.kill()
            return
        path = os.path.join(self.dir, "source")
        if self.rng.random() < 0.5:
            os.truncate(path, self.rng.randrange(len(self.content) + 1))
        else:
            with open(path, "r+b") as f:
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

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mounts forgetful-fs.c, with a fault."""

import collections
import os
import subprocess

LIMIT = 300                     # timeout in seconds, far above a passing run
CUT = 3                         # exit status after a cut

KEEPS = "none", "all", "ordered", "last", "subset", "torn", "zeros"
RANDOM_KEEPS = "ordered", "subset", "torn"

# KIND is that of the report; AT is the number of the change or read, and
# OPTIONS are those of the file system.
Fault = collections.namedtuple("Fault", "kind at options")
Event = collections.namedtuple("Event", "what number name size")

READS = "open", "read"
NOT_COUNTED = "lost", "fail", "wrong"


class Failed(Exception):
    """A wrong answer, or one that does not come."""


def cut(keep, at, seed):
    """At the end if AT is None."""
    options = ["-k", keep, "-s", str(seed)]
    return Fault("cut, keep " + keep, at,
                 options + (["-c", str(at)] if at else []))


def fail(at, is_read, for_ever, keep="all", seed=0):
    return Fault("%s fails %s" % ("read" if is_read else "change",
                                  "for ever" if for_ever else "once"), at,
                 ["-f", str(at), "-k", keep, "-s", str(seed)] +
                 ["-r"] * is_read + ["-a"] * for_ever)


def wrong(at, seed):
    return Fault("wrong bytes", at, ["-w", str(at), "-s", str(seed)])


def delay(ms):
    return Fault("delay", 0, ["-d", str(ms)])


class Mount:
    """The directory WHERE/store, mounted as WHERE/mnt until it is ended."""

    def __init__(self, program, where, options):
        self.store = os.path.join(where, "store")
        self.path = os.path.join(where, "mnt")
        self.log_path = os.path.join(where, "fs.log")
        os.makedirs(self.path, exist_ok=True)
        self.process = subprocess.Popen(
            [program, "-l", self.log_path, *options, self.store, self.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"mounted\n":
            self.process.wait()
            raise SystemExit("cannot mount forgetful-fs")

    def is_cut(self):
        return self.process.poll() is not None

    def end(self):
        """Afterwards the directory has what is durable.  Returns true if the
        power was cut before."""
        self.process.terminate()
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process.stdout.close()
        if os.path.ismount(self.path) or status not in (0, CUT):
            subprocess.run(["fusermount3", "-u", "-z", "-q", self.path])
            raise SystemExit("forgetful-fs ended with %d" % status)
        return status == CUT

    def events(self):
        with open(self.log_path) as f:
            for line in f:
                what, number, name, size = line.split()
                yield Event(what, int(number), name, int(size))


def count(events):
    """The number of changes, of reads, and the reads that are not an open."""
    changes = reads = 0
    contents = []
    for event in events:
        if event.what in READS:
            reads = event.number
            if event.what == "read":
                contents.append(reads)
        elif event.what not in NOT_COUNTED:
            changes = event.number
    return changes, reads, contents

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job of test-call-faults.py with nbdkit, whatever its filter: the disk, the
clients, and what every server must do when a call of the filter fails."""

import os
import threading

import nbd
import reference

BLOCK = 65536
CLIENTS = 4
QUARTER = 6 * BLOCK + 2000      # not whole blocks
SIZE = CLIENTS * QUARTER
RIGHT, ERROR = "right", "error"


class Wrong(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Wrong(" ".join(map(str, why)))


def content(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def hashed(disk):
    return [disk[i:i + BLOCK] for i in range(0, len(disk), BLOCK)]


def sum_of(disk):
    return reference.blkhash(hashed(disk))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


class Client(threading.Thread):
    """Calls USE with itself in a thread.  .errors is what failed, .wrong what must
    not be."""

    def __init__(self, socket, name, use):
        super().__init__(daemon=True)
        self.socket, self.name_of_export, self.use = socket, name, use
        self.errors, self.wrong = [], None

    def run(self):
        try:
            self.h = nbd.NBD()
            self.h.add_meta_context("base:allocation")
            self.h.set_export_name(self.name_of_export)
            if self.ask("connect", self.h.connect_unix, self.socket):
                self.use(self)
                self.ask("disconnect", self.h.shutdown)
            del self.h
        except Wrong as e:
            self.wrong = str(e)

    def ask(self, what, function, *arguments):
        """Returns whether it did not fail."""
        try:
            function(*arguments)
        except nbd.Error as e:
            self.errors.append("%s: %s" % (what, e))
            return False
        return True

    def read(self, truth, offset, n):
        """Of a disk whose content is TRUTH."""
        try:
            data = self.h.pread(n, offset)
        except nbd.Error as e:
            self.errors.append("read: %s" % e)
            return
        need(data == truth[offset:offset + n], "wrong bytes at", offset)

    def extents(self, offset, n):
        self.ask("extents", self.h.block_status, n, offset,
                 lambda *arguments: 0)


class ServerJob:
    """nbdkit with the filter FILE and PARAMETERS, in which %s is the directory."""

    environment, waits = {}, False
    threads = 1                 # of nbdkit without clients
    descriptors = None          # of it, if known
    plugin = "file", "%s/disk"

    def __init__(self, name, file, parameters):
        self.name, self.file = name, file
        self.module = os.path.basename(file)
        self.parameters = parameters

    @property
    def command(self):
        return ["nbdkit", "--filter=" + self.file, *self.plugin,
                *self.parameters]

    def crowds(self):
        """Lists of (name of export, function of a client), one after the other."""
        raise NotImplementedError

    def after_crowd(self, directory, errors):
        """No client is connected.  Raises Wrong."""

    def judge(self, outcome, right, fault):
        """Returns RIGHT or ERROR, or raises Wrong."""
        raise NotImplementedError

    def judge_end(self, outcome, right, fault):
        """For all of them."""
        need(outcome.status in (0, 1), "status", outcome.status)
        need(outcome.status == 0 or outcome.errors, "ended without a message")
        need(not outcome.wrong, outcome.wrong)
        need(fault is None or outcome.descriptors <= right.descriptors,
             "descriptors left:", outcome.descriptors)
        need(not outcome.leak, "LEAK", outcome.leak[:1])
        left = set(outcome.files) - set(right.files if right else
                                        outcome.files)
        # The lock file, and what was replaced, are removed if they are known to
        # be those of the server.
        need(not left or fault.function == "unlink" or
             fault.function in ("flock", "fstat", "lstat", "stat") and
             all(name.endswith((".blkhash-lock", ".blkhash-old"))
                 for name in left),
             "FILE left:", *left)

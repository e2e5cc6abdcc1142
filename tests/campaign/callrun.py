# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a job of calljobs.py in which one call fails, with call-faults.c
preloaded, and judges what came of it."""

import collections
import ctypes
import os
import re
import shutil
import struct
import subprocess
import time

import callerrors
from calljobs import LIMIT

ROW, ROWS, TEXT = 64, 128, 4096   # of struct shared
PR_SET_CHILD_SUBREAPER = 36
SYNCS = "fsync", "fdatasync"
RIGHT, ERROR = "right", "error"
# OpenSSL, json-c and libnbd crash in some places if they have no memory.
LIBRARY = "crash of a library"

# Numbers in JSON that depend on time, or on whether the file system reports
# holes.
VARIES = re.compile(rb'"(seconds|\w+-bytes)":[\d.]+')

Outcome = collections.namedtuple(
    "Outcome", "status stdout stderr files counts backtrace crash orphans")
Fault = collections.namedtuple("Fault", "function at error on")


class Finding(Exception):
    pass


def adopt_orphans():
    """Processes whose parent has ended become our children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_orphans(known):
    """Wait until all our children but the process KNOWN have ended.  Returns the
    number of those that had to be killed."""
    end, killed = time.monotonic() + LIMIT, 0
    while True:
        orphans = children(known)
        if not orphans:
            return killed
        for pid in orphans:
            if time.monotonic() > end:
                os.kill(pid, 9)
                killed += 1
            os.waitpid(pid, 0 if killed else os.WNOHANG)
        time.sleep(0.002)


def children(known):
    with open("/proc/self/task/%d/children" % os.getpid()) as f:
        return [int(pid) for pid in f.read().split() if int(pid) != known]


def is_of_library(crash):
    """Is the innermost function, but those of the C library, in a library that
    is not ours?"""
    for line in crash:
        name = os.path.basename(line)
        if name.startswith(("libc.so", "libc-", "call-faults", "linux-vdso")):
            continue
        return ".so" in name and not name.startswith("libblkhash")
    return False


def read_tree(directory):
    """All names below DIRECTORY, with the content of files."""
    found = {}
    for where, directories, files in os.walk(directory):
        for name in directories + files:
            path = os.path.join(where, name)
            content = None
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    content = f.read()
            found[os.path.relpath(path, directory)] = content
    return found


class Runner:
    def __init__(self, library, where, server=None):
        self.library = library
        self.work = os.path.join(where, "work")
        self.shared = os.path.join(where, "shared")
        self.server = server

    def environment(self, job, fault):
        environment = dict(os.environ, LD_PRELOAD=self.library,
                           CALL_FAULT_FILE=self.shared,
                           TMPDIR=os.path.join(self.work, ".tmp"),
                           **job.environment)
        if fault:
            environment["CALL_FAULT"] = "%s:%d:%d%s" % (
                fault.function, fault.at, callerrors.number(fault.error),
                ":on" if fault.on else "")
        return environment

    def prepare(self, job):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(os.path.join(self.work, ".tmp"))
        job.prepare(self.work)

    def options(self):
        """Of the process."""
        return {}

    def begin(self):
        if self.server:
            self.server.start()
        with open(self.shared, "wb") as f:
            f.truncate(ROW * ROWS + 3 * TEXT)

    def run(self, job, fault=None):
        """In the directory WORK as it is."""
        self.begin()
        stdin = {"input": job.stdin}
        if not isinstance(job.stdin, bytes):
            stdin = {"stdin": job.stdin or subprocess.DEVNULL}
            if job.stdin:
                job.stdin.seek(0)
        try:
            done = subprocess.run(job.command, cwd=self.work, timeout=LIMIT,
                                  env=self.environment(job, fault),
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, **stdin,
                                  **self.options())
        except subprocess.TimeoutExpired:
            raise Finding("HANG")
        orphans = wait_for_orphans(self.server and self.server.process.pid)
        with open(self.shared, "rb") as f:
            shared = f.read()
        return Outcome(done.returncode, VARIES.sub(rb'"\1":0', done.stdout),
                       done.stderr.decode(errors="replace"),
                       read_tree(self.work), self.counts(shared),
                       self.lines(shared, ROW * ROWS),
                       self.lines(shared, ROW * ROWS + TEXT), orphans)

    @staticmethod
    def lines(shared, start):
        text = shared[start:start + TEXT].split(b"\0")[0]
        return text.decode().splitlines()

    @staticmethod
    def counts(shared):
        counts = {}
        for at in range(0, ROW * ROWS, ROW):
            name, count = struct.unpack_from("60sI", shared, at)
            if count:
                counts[name.split(b"\0")[0].decode()] = count
        return counts

    def run_right(self, job):
        """Without a fault: what each run should do."""
        self.prepare(job)
        before = read_tree(self.work)
        right = self.run(job)
        if right.status != job.status:
            raise SystemExit("%s: status %d: %s" % (
                job.name, right.status, right.stderr))
        if job.printed and right.stdout.decode().split("\n")[0] != job.printed:
            raise SystemExit("%s: printed %r" % (job.name, right.stdout))
        unknown = set(right.counts) - set(callerrors.ERRORS)
        if unknown:
            raise SystemExit("functions without errors: %s" % unknown)
        return before, right

    # ---- Judging ----

    def run_fault(self, job, fault, before, right):
        """Returns (RIGHT, ERROR or LIBRARY; outcome), or raises a finding."""
        self.prepare(job)
        outcome = self.run(job, fault)
        try:
            return self.judge(job, fault, before, right, outcome), outcome
        except Finding as e:
            e.outcome = outcome
            raise

    def judge(self, job, fault, before, right, outcome):
        if outcome.status < 0 and is_of_library(outcome.crash):
            return LIBRARY
        if outcome.status < 0:
            raise Finding("KILLED by signal %d" % -outcome.status)
        if outcome.orphans:
            raise Finding("ORPHANS: %d" % outcome.orphans)
        if outcome.status == right.status and outcome.stdout == right.stdout:
            if outcome.backtrace and fault.function in SYNCS:
                raise Finding("NOT SYNCED, and no error")
            left = set(job.may_leave) - set(right.files)
            self.judge_files(fault, right.files, outcome.files, left)
            if left & set(outcome.files):
                self.repeat(job, right)
            return RIGHT
        if not job.has_failed(outcome):
            raise Finding("WRONG: status %d" % outcome.status)
        if fault.error == callerrors.SHORT and not job.direct:
            raise Finding("SHORT COUNT taken for an error")
        self.judge_message(job, fault, outcome.stderr)
        # A manifest is published before the sum is printed, and lines can be
        # written before the flush that fails.
        late = "write error" in outcome.stderr or \
            "cannot sync the directory" in outcome.stderr
        if not (late and outcome.stdout == right.stdout) and \
           not job.may_print(right.stdout, outcome.stdout):
            raise Finding("PRINTED in spite of an error")
        if not late or outcome.files != right.files:
            self.judge_files(fault, before, outcome.files, job.may_leave)
        if job.repeat:
            self.repeat(job, right)
        return ERROR

    @staticmethod
    def judge_message(job, fault, stderr):
        """Without memory libnbd and GnuTLS print lines of their own."""
        if fault.function != "library_malloc" and not all(
                line.startswith(job.says) for line in stderr.splitlines()):
            raise Finding("MESSAGE of somebody else")
        if "(null)" in stderr:
            raise Finding("MESSAGE without a name")

    @staticmethod
    def judge_files(fault, expected, found, may_leave):
        """If a file cannot be removed, it is left."""
        for name in sorted(set(expected) | set(found)):
            if name in may_leave or \
               expected.get(name, 0) == found.get(name, 0):
                continue
            if name in expected:
                raise Finding("FILE %s: %s" % (
                    name, "changed" if name in found else "missing"))
            if fault.function != "unlink":
                raise Finding("FILE %s: left" % re.sub("[0-9]{4,}", "N", name))

    def repeat(self, job, right):
        """The next run is right, with what the failed one has left."""
        again = self.run(job)
        if not job.is_right_again(right, again):
            raise Finding("NEXT RUN: status %d: %s" % (again.status,
                                                       again.stderr))
        self.judge_files(Fault("unlink", 0, 0, False), right.files,
                         again.files, ())

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a job of serverjobs.py, nbdkit with one of our filters and its clients, in
which one call of the filter fails."""

import collections
import os
import re
import signal
import subprocess
import time

import callerrors
import callrun
import serverjob
from calljobs import LIMIT
from callrun import ERROR, LIBRARY, ROW, ROWS, TEXT, Finding, Runner

# .served: clients could connect.  .errors: the messages of the log; .failed: the
# requests that failed; .descriptors: those that nbdkit had without clients; .leak:
# a backtrace of memory that the filter did not free.
Outcome = collections.namedtuple(
    "Outcome", callrun.Outcome._fields + (
        "directory", "served", "errors", "failed", "wrong", "descriptors",
        "leak", "lines"))

SOON = 20                       # seconds: a file is written sooner


class Server:
    def __init__(self, job, directory, environment, options):
        self.job = job
        where = os.path.dirname(directory)
        self.socket = os.path.join(where, "server.sock")
        self.pid, self.log = self.socket + ".pid", self.socket + ".log"
        for path in self.socket, self.pid:
            if os.path.exists(path):
                os.unlink(path)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["nbdkit", "-f", "-U", self.socket, "-P", self.pid] +
                [word.replace("%s", directory) for word in job.command[1:]],
                stdin=subprocess.DEVNULL, stderr=log, env=environment,
                **options)
        self.failed, self.wrong, self.descriptors = [], "", 0
        try:
            self.served = self.wait_until(lambda: os.path.exists(self.pid))
        except Finding:
            self.process.kill()
            self.process.wait()
            raise

    def has_ended(self):
        return self.process.poll() is not None

    def wait_until(self, condition):
        """Returns false if the server has ended."""
        end = time.monotonic() + LIMIT
        while not self.has_ended():
            if condition():
                return True
            if time.monotonic() > end:
                raise Finding("HANG of nbdkit")
            time.sleep(0.001)
        return False

    def ask(self, *names):
        path = os.path.join("/proc/%d" % self.process.pid, *names)
        try:
            return len(os.listdir(path))
        except OSError:
            return 0

    def use(self, crowd):
        """Returns when all connections are closed."""
        clients = [serverjob.Client(self.socket, name, use)
                   for name, use in crowd]
        for client in clients:
            client.start()
        end = time.monotonic() + LIMIT
        for client in clients:
            client.join(max(0, end - time.monotonic()))
            if client.is_alive():
                raise Finding("HANG of a client")
            self.failed += client.errors
            self.wrong = self.wrong or client.wrong or ""
        self.wait_until(lambda: self.ask("task") <= self.job.threads)
        self.count_descriptors()

    def count_descriptors(self):
        """A thread of the filter can be writing a file: then there are more."""
        end = time.monotonic() + (SOON if self.job.descriptors else 0.5)
        found = self.ask("fd")
        while found > (self.job.descriptors or 0) and time.monotonic() < end:
            time.sleep(0.005)
            found = min(found, self.ask("fd"))
        self.descriptors = max(self.descriptors, found)

    def errors(self):
        with open(self.log, errors="replace") as f:
            return re.findall("^nbdkit: .*error: .*", f.read(), re.M)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise Finding("HANG of nbdkit at the end") from None


class ServerRunner(Runner):
    def environment(self, job, fault):
        """Buffers of a block are unmapped when they are freed, so that a later use
        of one is a crash."""
        return dict(super().environment(job, fault),
                    CALL_FAULT_MODULE=job.module,
                    GLIBC_TUNABLES="glibc.malloc.mmap_threshold=32768")

    def run(self, job, fault=None, crowds=None):
        """In the directory WORK as it is.  CROWDS are those of the next server."""
        self.begin()
        server = Server(job, self.work, self.environment(job, fault),
                        self.options())
        try:
            return self.run_server(job, server, crowds)
        finally:
            server.process.kill()
            server.process.wait()

    def run_server(self, job, server, crowds):
        try:
            for crowd in (crowds or job.crowds()) if server.served else ():
                server.use(crowd)
                if not crowds:
                    job.after_crowd(self.work, server.errors())
        except serverjob.Wrong as e:
            server.wrong = server.wrong or str(e)
        status = server.end()
        orphans = callrun.wait_for_orphans(None)
        with open(self.shared, "rb") as f:
            shared = f.read()
        errors = server.errors()
        return Outcome(
            status, "\n".join(server.failed).encode(), "\n".join(errors),
            callrun.read_tree(self.work), self.counts(shared),
            self.lines(shared, ROW * ROWS),
            self.lines(shared, ROW * ROWS + TEXT), orphans, self.work,
            server.served, errors, server.failed, server.wrong,
            server.descriptors, self.lines(shared, ROW * ROWS + 2 * TEXT), [])

    def run_right(self, job):
        self.prepare(job)
        right = self.run(job)
        try:
            how = job.judge(right, None, None)
        except serverjob.Wrong as e:
            raise SystemExit("%s: %s: %s" % (job.name, e, right.stderr)) from e
        if how != serverjob.RIGHT:
            raise SystemExit("%s: %s" % (job.name, right))
        job.descriptors = right.descriptors
        return {}, right

    def judge(self, job, fault, before, right, outcome):
        # A wrong use of a library can crash there, too.
        if outcome.status < 0 and callerrors.FAMILY.get(
                fault.function, "").startswith("memory") and \
           self.is_of_other(outcome.crash):
            return LIBRARY
        if outcome.status < 0:
            raise Finding("KILLED by signal %d" % -outcome.status)
        if outcome.orphans:
            raise Finding("ORPHANS: %d" % outcome.orphans)
        try:
            how = job.judge(outcome, right, fault)
            if how == ERROR:
                again = self.run(job, None, job.next())
                job.judge_next(again, right)
        except serverjob.Wrong as e:
            raise Finding(str(e)) from None
        return how

    @staticmethod
    def is_of_other(crash):
        """Is the innermost function one of nbdkit, or of another library?"""
        for line in crash:
            name = os.path.basename(line)
            if name.startswith(("libc.so", "call-faults", "linux-vdso")):
                continue
            return "blkhash" not in name
        return False

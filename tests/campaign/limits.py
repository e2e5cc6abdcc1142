# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs jobs of calljobs.py and serverjobs.py with a limit of the system, with one
CPU, or with a clock that jumps, and judges what came of it."""

import os
import resource
import signal

from callrun import ERROR, Fault, Finding

MIB = 1 << 20
NOT_STARTED = "not started"
KINDS = "memory", "open files", "size of files", "one CPU", "clock"


class Limit:
    def __init__(self, rng, of_server):
        """OF_SERVER: only one CPU and the clock.  With limits nbdkit itself fails: it
        leaves sockets open, its threads wait for each other, and it ends connections
        without a message.  The calls of the filters fail in test-call-faults.py."""
        self.kind = rng.choice(KINDS[3:] if of_server else KINDS)
        self.cpus = os.sched_getaffinity(0)
        self.ignores, self.jump, self.value = rng.random() < 0.5, 0, 0
        self.what = None
        if self.kind == "memory":
            self.what = resource.RLIMIT_AS
            self.value = int(MIB * 8 * 80 ** rng.random())
        elif self.kind == "open files":
            self.what = resource.RLIMIT_NOFILE
            self.value = rng.randrange(3, 40)
        elif self.kind == "size of files":
            self.what = resource.RLIMIT_FSIZE
            self.value = int(2 * MIB * rng.random() ** 4)
        elif self.kind == "one CPU":
            self.cpus = {rng.choice(sorted(self.cpus))}
        else:
            self.jump = rng.choice((1, 3600, 10 ** 8))

    def __str__(self):
        return "%s: %s" % (self.kind, self.value or self.jump or self.cpus) + (
            ", SIGXFSZ ignored" if self.what == resource.RLIMIT_FSIZE and
            self.ignores else "")

    def must_be_right(self):
        return self.kind in ("one CPU", "clock")

    def fault(self):
        """For the judge of calls that fail.  Other libraries fail too."""
        return Fault("limit" if self.must_be_right() else "library_malloc", 0,
                     str(self), False)

    def apply(self):
        """In the child."""
        os.sched_setaffinity(0, self.cpus)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if self.ignores
                      else signal.SIG_DFL)
        if self.kind in KINDS[:3]:
            resource.setrlimit(self.what, (self.value, self.value))


class Limited:
    """Mixed into a runner."""

    limit = None                # of the next run

    def environment(self, job, fault):
        environment = super().environment(job, None)
        if self.limit and self.limit.jump:
            environment["LD_PRELOAD"] += ":" + self.clock
            environment["CLOCK_JUMP"] = str(self.limit.jump)
        return environment

    def options(self):
        """The limit is that of one run; the next one has none."""
        limit, self.limit = self.limit, None
        # A signal that Python ignores is not restored.
        return {"preexec_fn": limit.apply, "restore_signals": False} \
            if limit else {}

    @staticmethod
    def killed(job, outcome):
        """The shell would say so.  A server has no limit of the size of files."""
        return outcome._replace(status=job.trouble,
                                stderr=job.says + "killed by SIGXFSZ\n")

    def judge(self, job, fault, before, right, outcome):
        if not outcome.counts and outcome.status != 0:
            return NOT_STARTED  # before main
        if outcome.status == -signal.SIGXFSZ:
            outcome = self.killed(job, outcome)
        how = super().judge(job, fault, before, right, outcome)
        if how == ERROR and fault.function == "limit":
            raise Finding("AN ERROR: " + outcome.stderr)
        return how

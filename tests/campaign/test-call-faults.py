#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every call fails in turn: runs the jobs of our programs, and programs of the
library's API, while one call of a library function fails.

Each run ends with the right answer, or with an error: status 2, a message, and
no sum.  A failed run leaves no file, and an existing manifest as it was; the next
run is right.  No run hangs, is killed by a signal, or leaves a process behind.

    test-call-faults.py --library FILE.so --blksum FILE --blkhash FILE
        --driver FILE --examples DIR [--no-nbd] [--faults N] [--job NAME]...
        [--function NAME]...
    test-call-faults.py --library FILE.so --filter FILE --verify FILE ...

With --filter and --verify, the modules of both filters, only they make calls that
fail: in nbdkit, while clients use it.

Without --faults all calls fail in turn, with each error that callerrors.py has
for the function, and with one of them from then on; of a function that a job
calls often, a random sample.  With --faults, N random calls do.
BLKHASH_SEED is the seed.  At the end it prints how the runs ended.
"""

import argparse
import collections
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import callerrors
import calljobs
import callrun
import faultreport
from callrun import ERROR, LIBRARY, RIGHT, Fault, Finding, Runner

SAMPLE = 100                    # calls of a function of one job, at most
LIBRARY_SAMPLE = 25             # of allocations by other libraries


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--blksum")
    parser.add_argument("--blkhash")
    parser.add_argument("--driver")
    parser.add_argument("--examples")
    parser.add_argument("--filter")
    parser.add_argument("--verify")
    parser.add_argument("--nbd", action=argparse.BooleanOptionalAction,
                        default=True)
    parser.add_argument("--faults", type=int)
    parser.add_argument("--job", action="append", help="only this one")
    parser.add_argument("--function", action="append", help="only this one")
    return parser.parse_args()


def all_faults(rng, counts, functions):
    """Every call of a job with the COUNTS, by function."""
    for function, count in counts.items():
        if functions and function not in functions:
            continue
        calls = range(1, count + 1)
        most = LIBRARY_SAMPLE if function == "library_malloc" else SAMPLE
        if count > most:
            calls = sorted(rng.sample(calls, most))
        for at in calls:
            errors = callerrors.ERRORS[function]
            for error in errors:
                yield Fault(function, at, error, False)
            yield from lasting(rng, function, at)


def lasting(rng, function, at):
    """All later calls fail too.  That of a signal does not last."""
    errors = [error for error in callerrors.ERRORS[function]
              if error not in ("EINTR", "EAGAIN")]
    if errors:
        yield Fault(function, at, rng.choice(errors), True)


def random_fault(rng, job, counts):
    """All functions are as likely, and all their calls."""
    function = rng.choice(sorted(
        function for function in counts if not job.waits or
        callerrors.FAMILY[function] not in ("sockets", "libnbd")))
    at = rng.randrange(counts[function]) + 1
    faults = [Fault(function, at, rng.choice(callerrors.ERRORS[function]),
                    False), *lasting(rng, function, at)]
    return rng.choice(faults)


class Campaign:
    def __init__(self, args, seed, where):
        self.args, self.rng = args, random.Random(seed)
        self.where, self.server = where, None
        self.tally = collections.Counter()      # (job, family, how)
        self.findings = collections.defaultdict(list)
        self.messages = collections.Counter()

    def server_jobs(self):
        """The jobs with nbdkit.  The others do not need the module nbd."""
        import callserver
        import serverjobs
        args, disk = self.args, serverjobs.any_disk(self.rng)
        self.runner = callserver.ServerRunner(args.library, self.where)
        return serverjobs.jobs(args.filter, args.verify, self.where, disk,
                               self.rng)

    def program_jobs(self):
        """Those with blksum and with programs of the API."""
        self.files = calljobs.Files(self.where, self.args, self.rng)
        if self.args.nbd and shutil.which("nbdkit"):
            self.server = calljobs.Server(self.where, self.files.path("raw"))
            self.server.start()
        self.runner = Runner(self.args.library, self.where, self.server)
        return self.jobs()

    def jobs(self):
        files, args = self.files, self.args
        yield from calljobs.blksum_jobs(files, args)
        if files.has_qemu:
            yield from calljobs.qemu_jobs(files, args)
        if self.server:
            yield from calljobs.nbd_jobs(files, args, self.server.uri)
        yield from calljobs.api_jobs(files, args)

    # ---- Runs ----

    def run(self):
        try:
            jobs = self.server_jobs() if self.args.filter else \
                self.program_jobs()
            jobs = [(job, *self.runner.run_right(job)) for job in jobs
                    if not self.args.job or job.name in self.args.job]
            if self.args.faults:
                self.run_sample(jobs)
            else:
                self.run_all(jobs)
        finally:
            if self.server:
                self.server.stop()

    def run_all(self, jobs):
        for job, before, right in jobs:
            start, n = time.monotonic(), 0
            for fault in all_faults(self.rng, right.counts, self.args.function):
                self.run_one(job, fault, before, right)
                n += 1
            print("%s: %d faults in %.0f s" % (job.name, n,
                                               time.monotonic() - start),
                  flush=True)

    def run_sample(self, jobs):
        for i in range(self.args.faults):
            job, before, right = jobs[i % len(jobs)]
            fault = random_fault(self.rng, job, right.counts)
            self.run_one(job, fault, before, right)

    def run_one(self, job, fault, before, right):
        family = callerrors.FAMILY[fault.function]
        try:
            how, outcome = self.runner.run_fault(job, fault, before, right)
            if not outcome.backtrace:
                how = "not reached"
            elif how == ERROR:
                self.messages[fault.function, fault.error, outcome.stderr] += 1
        except Finding as e:
            how = "finding"
            self.report(job, fault, e)
        self.tally[job.name, family, how] += 1

    def report(self, job, fault, finding):
        outcome = getattr(finding, "outcome", None)
        site = frames = ""
        if outcome:
            frames = symbolize(outcome.crash or outcome.backtrace)
            site = " < ".join(frames[:2])
        same = self.findings[str(finding).split(":")[0], fault.function, site]
        same.append((job.name, fault))
        if len(same) > 1:
            return
        print("FINDING: %s: %s\n  CALL_FAULT=%s:%d:%d%s %s%s" % (
            job.name, finding, fault.function, fault.at,
            callerrors.number(fault.error), ":on" if fault.on else "",
            "".join("%s=%s " % pair for pair in job.environment.items()),
            shlex.join(job.command)))
        if outcome:
            print("  stdout: %r\n  stderr: %r" % (outcome.stdout[:1000],
                                                 outcome.stderr[:2000]))
            for frame in frames:
                print("    " + frame)
        sys.stdout.flush()

    # ---- The report ----

    def print_table(self):
        ends = RIGHT, ERROR, "not reached", LIBRARY, "finding"
        line = "%-21s %-19s" + " %6s" * (1 + len(ends))
        print("\n" + line % ("job", "family", "runs", "right", "error", "unmet",
                             "crash", "wrong"))
        totals = [0] * len(ends)
        jobs = dict.fromkeys(job for job, _, _ in self.tally)
        for job in jobs:
            for family in callerrors.FAMILIES:
                row = [self.tally[job, family, how] for how in ends]
                totals = [a + b for a, b in zip(totals, row)]
                if any(row):
                    print(line % (job, family, sum(row), *row))
        print(line % ("all", "", sum(totals), *totals))
        print("unmet: the call was not reached; crash: of another library, "
              "without memory")

    def print_messages(self):
        for (function, error, text), n in sorted(self.messages.items()):
            print("%6d %s %s: %s" % (n, function, error,
                                     text.replace(self.where, "DIR").strip()))

    def count_findings(self, *beginnings):
        return sum(len(found) for (what, _, _), found in self.findings.items()
                   if what.startswith(beginnings))

    def print_findings(self):
        for (what, function, site), all_of_it in self.findings.items():
            print("%6d %s: %s: %s" % (len(all_of_it), what, function, site))


def symbolize(backtrace):
    """The functions of our code in it, innermost first."""
    frames = []
    for line in backtrace:
        path, _, offset = line.rpartition("+")
        if "call-faults" not in path and ("blksum" in path or
                                          "blkhash" in path):
            out = subprocess.run(["addr2line", "-sfe", path, offset], text=True,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL).stdout.split("\n")
            frames.append(" ".join(out[:2]))
    return frames or backtrace[:1]


def main():
    args = parse_arguments()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    print("BLKHASH_SEED=%d" % seed, flush=True)
    callrun.adopt_orphans()
    where = tempfile.mkdtemp(prefix="call-")
    try:
        campaign = Campaign(args, seed, where)
        campaign.run()
    finally:
        shutil.rmtree(where)
    campaign.print_messages()
    campaign.print_table()
    ends = collections.Counter()
    for (_, _, how), n in campaign.tally.items():
        ends[how] += n
    count = campaign.count_findings
    faultreport.add(
        "a call fails: " + ("both filters" if args.filter else
                            "blksum, libblkhash"),
        ends[RIGHT], ends[ERROR] + ends[LIBRARY], ends["finding"] -
        count("HANG"), count("HANG"), count("ORPHANS"),
        count("LEAK", "descriptors left") if args.filter else "-")
    if campaign.findings:
        campaign.print_findings()
        sys.exit("%d kinds of findings" % len(campaign.findings))


if __name__ == "__main__":
    main()

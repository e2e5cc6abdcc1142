#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the jobs of test-call-faults.py with limits of the system: of memory
(RLIMIT_AS), of open files (RLIMIT_NOFILE) and of the size of files (RLIMIT_FSIZE);
with one CPU; and with a real-time clock that jumps forth and back.

With a limit each run ends with the right answer, or with an error; with one CPU
and any clock it is right.  What a run may leave is as in test-call-faults.py, and
the next run without a limit is right.

    test-limits.py --clock FILE.so --library FILE.so --blksum FILE --blkhash FILE --driver FILE
        --examples DIR [--no-nbd] [--filter FILE --verify FILE]

BLKHASH_SEED is the seed, and BLKHASH_ROUNDS the number of runs, of programs
and again of servers.
"""

import argparse
import collections
import os
import random
import shutil
import tempfile
import time

import callrun
import calljobs
import faultreport
import limits
from callrun import ERROR, RIGHT, Finding, Runner


class ProgramRunner(limits.Limited, Runner):
    pass


def server_jobs(args, where, rng):
    import callserver
    import serverjobs

    class ServerRunner(limits.Limited, callserver.ServerRunner):
        pass
    disk = serverjobs.any_disk(rng)
    return (ServerRunner(args.library, where),
            serverjobs.jobs(args.filter, args.verify, where, disk, rng))


def program_jobs(args, where, rng):
    files = calljobs.Files(where, args, rng)
    server = None
    if args.nbd and shutil.which("nbdkit"):
        server = calljobs.Server(where, files.path("raw"))
        server.start()
    runner = ProgramRunner(args.library, where, server)
    jobs = [*calljobs.blksum_jobs(files, args), *calljobs.api_jobs(files, args)]
    if files.has_qemu:
        jobs += [job for job in calljobs.qemu_jobs(files, args)
                 if not job.environment]
    if server:
        jobs += calljobs.nbd_jobs(files, args, server.uri)
    return runner, jobs


def run(args, where, rng, rounds, name, make):
    runner, jobs = make(args, where, rng)
    runner.clock = args.clock
    tally, found = collections.Counter(), []
    try:
        jobs = [(job, *runner.run_right(job)) for job in jobs]
        for i in range(rounds):
            job, before, right = jobs[i % len(jobs)]
            limit = limits.Limit(rng, make is server_jobs)
            runner.limit = limit
            try:
                how = runner.run_fault(job, limit.fault(), before, right)[0]
            except Finding as e:
                how = "finding"
                found.append(str(e))
                outcome = getattr(e, "outcome", None)
                print("FINDING: %s, %s: %s\n" % (job.name, limit, e), outcome and (
                    outcome.status, outcome.stdout[:500], outcome.stderr[:1000],
                    outcome.crash), flush=True)
            tally[limit.kind, how] += 1
    finally:
        if runner.server:
            runner.server.stop()
    ends = collections.Counter()
    for (kind, how), n in sorted(tally.items()):
        print("%6d  %s: %s: %s" % (n, name, kind, how))
        ends[how] += n

    def count(*beginnings):
        return sum(what.startswith(beginnings) for what in found)
    faultreport.add(
        "limits, one CPU, a clock that jumps: " + name, ends[RIGHT],
        ends[ERROR] + ends[limits.NOT_STARTED] + ends[callrun.LIBRARY],
        len(found) - count("HANG"), count("HANG"), count("ORPHANS"),
        count("LEAK", "descriptors left") if make is server_jobs else "-")
    return ends["finding"]


def main():
    parser = argparse.ArgumentParser()
    for name in "clock", "library", "blksum", "blkhash", "driver", \
            "examples", "filter", "verify":
        parser.add_argument("--" + name)
    parser.add_argument("--nbd", action=argparse.BooleanOptionalAction,
                        default=True)
    args = parser.parse_args()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 60)
    print("BLKHASH_SEED=%d" % seed, flush=True)
    callrun.adopt_orphans()
    found = 0
    for name, make in ("blksum, libblkhash", program_jobs), \
            ("both filters", server_jobs):
        if make is program_jobs or args.filter:
            where = tempfile.mkdtemp(prefix="limits-")
            try:
                found += run(args, where, random.Random(seed), rounds, name,
                             make)
            finally:
                shutil.rmtree(where)
    if found:
        raise SystemExit("%d findings" % found)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Storage that forgets and lies: our programs and the filter write to
forgetful-fs.c, whose power is cut at each change, and which fails or returns
wrong bytes.

After a cut the directory has what is durable.  A sum or a manifest in it is
that of the disk; an old manifest is complete, or was replaced by another
complete one; the next run is right.  After an error the same is true.

    test-power-cuts.py --fs FILE --blksum FILE --blkhash FILE [--filter FILE.so]
        [--faults N] [--job NAME]... [--kind KIND]... [--seeds N] [-v]

Without --faults each job is cut at each of its changes, with each kind of
forgetting; random kinds with several seeds.  With --faults there are N faults:
first the cuts that notice a missing sync, then random ones.
BLKHASH_SEED is the seed.  At the end it prints how the runs ended.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

import cutmodel
import faultreport
import forgetful
from cutjobs import ERROR, RIGHT, SPEC, Images, Job, NewFile
from forgetful import KEEPS, RANDOM_KEEPS, Failed, Mount

WORKERS = 6                     # they mostly wait
WRONG, HANG = "wrong", "hang"
FIRST = "cut, keep none", "cut, keep last", "cut, keep zeros"
Run = collections.namedtuple("Run", "job fault next")


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fs", required=True)
    parser.add_argument("--blksum", required=True)
    parser.add_argument("--blkhash", required=True)
    parser.add_argument("--filter")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--job", action="append", help="only this one")
    parser.add_argument("--kind", action="append", help="only this one")
    parser.add_argument("-v", action="store_true")
    return parser.parse_args()


class Place:
    """A directory for one run at a time."""

    def __init__(self, args, path):
        self.args, self.path = args, path
        self.store = os.path.join(path, "store")
        os.mkdir(path)

    def run(self, job, options):
        """Run JOB on what is in the store.  Returns its outcome, whether the
        power was cut, and what was done."""
        mount = Mount(self.args.fs, self.path, [*options, *job.file_system])
        try:
            outcome = job.run(mount.path, mount)
        finally:
            was_cut = mount.end()
        return outcome, was_cut, list(mount.events())

    def run_fault(self, run):
        job, fault = run.job, run.fault
        job.prepare(self.store)
        options = list(fault.options)
        if job.no_reads_of:
            options += ["-x", job.no_reads_of]
        outcome, was_cut, events = self.run(job, options)
        how = job.judge(self.store, outcome, was_cut, events)
        for options in run.next:
            outcome, was_again, events = self.run(job, options)
            job.judge(self.store, outcome, was_again, events)
        after = job.judge_next(self.store)
        return after if was_cut else how


class Campaign:
    def __init__(self, args, seed, where):
        self.args, self.rng, self.where = args, random.Random(seed), where
        self.tally = collections.Counter()      # (kind, how)
        self.by_job = collections.Counter()
        self.failures = []
        self.local = threading.local()
        self.lock = threading.Lock()
        self.places = 0

    def place(self):
        with self.lock:
            self.places += 1
            return Place(self.args,
                         os.path.join(self.where, "work%d" % self.places))

    # ---- The jobs ----

    def jobs(self):
        images = Images(self.where, self.rng)
        blksum, blkhash = self.args.blksum, self.args.blkhash
        image, changed = images.path("image"), images.path("changed")
        m, old = ["--manifest", "%s/m"], {"m": images.changed_manifest}
        hash_ = [blksum, "-d", SPEC, *m, image]
        yield Job("manifest", hash_, "m", images.manifest, images.sum)
        yield Job("manifest, replaced", hash_, "m", images.manifest,
                  images.sum, old)
        yield Job("merge", [blkhash, "merge", *m, *(
            "%s/" + name for name in images.parts)], "m", images.manifest,
                  images.sum, {**images.parts, **old})
        for name, data in images.parts.items():
            number = int(name[5:11])
            yield Job("part %d" % number, [
                blkhash, "parts", "-d", SPEC, "--state", "x", "--part",
                "%d/2" % number, image, "%s"], name, data)
        yield Job("parts, one missing", [
            blkhash, "parts", "--state", "x", *m, image, "%s"], "m",
                  images.manifest, images.sum,
                  {"plan": images.plan, name: data})
        update = [blkhash, "update", "--changed", images.changes, *m]
        yield Job("update", [*update, "%s/m", changed], "m",
                  images.changed_manifest, images.changed_sum,
                  {"m": images.manifest})
        yield Job("update, another file", [*update, "%s/old", changed], "m",
                  images.changed_manifest, images.changed_sum,
                  {"old": images.manifest})
        for to, (data, first) in images.exports.items():
            yield NewFile("export " + to, [
                blkhash, "export", "--to", to, *(
                    ["--descriptor", "%s/out"] if to == "fsverity" else []),
                images.path("blocks.blkm"), *(
                    [] if to == "fsverity" else ["%s/out"])], "out", data, first)
        if self.args.filter:
            import cutfilter
            yield from cutfilter.jobs(self.args.filter, self.rng)

    # ---- The faults ----

    def count(self, job):
        """Run it without a fault."""
        place = self.place()
        job.prepare(place.store)
        options = ["-x", job.no_reads_of] if job.no_reads_of else []
        outcome, _, events = place.run(job, options)
        if job.judge(place.store, outcome, False, events) != RIGHT:
            raise SystemExit("%s fails without a fault: %s" % (job.name,
                                                               outcome))
        job.judge_next(place.store)
        changes, reads, contents = forgetful.count(events)
        # filter/crash-model.py has what is possible after each change of the filter.
        job.syncs = [] if job.name.startswith("filter") else [
            event.number for event in events if event.what == "sync"]
        print("%-28s %3d changes, %2d reads%s" % (
            job.name, changes, reads,
            ", names cannot be exchanged" if job.file_system else ""),
              flush=True)
        return changes, reads, contents

    def seed(self):
        return self.rng.randrange(2**32)

    def cut_again(self):
        """Cuts of the next runs."""
        return [forgetful.cut(self.rng.choice(KEEPS), self.rng.randrange(1, 25),
                              self.seed()).options
                for _ in range(self.rng.choice((0, 0, 1, 2)))]

    def faults(self, job, changes, reads, contents):
        for at in [*range(1, changes + 1), None]:
            for keep in KEEPS:
                many = self.args.seeds if keep in RANDOM_KEEPS else 1
                for _ in range(many):
                    yield Run(job, forgetful.cut(keep, at, self.seed()),
                              self.cut_again())
        for is_read, most in (False, changes), (True, reads):
            for at in range(1, most + 1):
                for for_ever in False, True:
                    for keep in ("all", "none") if job.flushes else ("all",):
                        yield Run(job, forgetful.fail(at, is_read, for_ever,
                                                      keep), [])
        for at in contents:
            for _ in range(self.args.seeds):
                yield Run(job, forgetful.wrong(at, self.seed()), [])
        yield Run(job, forgetful.delay(20), [])

    @staticmethod
    def is_first(run):
        """A cut that notices a missing sync: it is in a sync, or after the end
        of the job, and loses all that it may lose."""
        kind, at, _ = run.fault
        return kind in FIRST and (at is None or at in run.job.syncs)

    def sample(self, faults, n):
        """N faults: first the cuts after the end of each job and in its syncs,
        then random faults, of which all pairs of job and kind are equally
        likely."""
        groups = collections.defaultdict(list)
        for run in faults:
            groups[run.job.name, run.fault.kind].append(run)
        first = [run for run in faults if self.is_first(run)]
        groups = list(groups.values())
        self.rng.shuffle(groups)
        return (first + [self.rng.choice(groups[i % len(groups)])
                        for i in range(n)])[:n]

    # ---- Runs ----

    def run(self):
        cutmodel.check(self.args.fs, self.where)
        faults = []
        for job in self.jobs():
            job.file_system = self.rng.choice(([], ["-n"]))
            if self.args.job and job.name not in self.args.job:
                continue
            counts = self.count(job)
            faults += [run for run in self.faults(job, *counts)
                       if not self.args.kind or
                       run.fault.kind in self.args.kind]
        if self.args.faults:
            faults = self.sample(faults, self.args.faults)
        print("%d faults" % len(faults), flush=True)
        pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
        try:
            for future in [pool.submit(self.run_one, run) for run in faults]:
                future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def run_one(self, run):
        if not hasattr(self.local, "place"):
            self.local.place = self.place()
        try:
            how = self.local.place.run_fault(run)
        except Failed as e:
            how = HANG if "HANG" in str(e) else WRONG
            self.failures.append(run)
            print("%s: %s: %s %s, %s: %s" % (
                how.upper(), run.job.name, run.fault.kind,
                " ".join(run.fault.options + run.job.file_system),
                "then " + str(run.next) if run.next else "", e), flush=True)
        with self.lock:
            self.tally[run.fault.kind, how] += 1
            self.by_job[run.job.name, how] += 1
        if self.args.v:
            print(how, run.job.name, run.fault, run.next, flush=True)

    def print_table(self, what, tally):
        line = "%-28s" + " %6s" * 5
        print("\n" + line % (what, "runs", "right", "errors", "wrong", "hangs"))
        totals = [0] * 5
        for name in sorted({name for name, _ in tally}):
            row = [tally[name, how] for how in (RIGHT, ERROR, WRONG, HANG)]
            row.insert(0, sum(row))
            totals = [a + b for a, b in zip(totals, row)]
            print(line % (name, *row))
        print(line % ("all", *totals))


def main():
    args = parse_arguments()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    print("BLKHASH_SEED=%d" % seed, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    where = tempfile.mkdtemp(prefix="cuts-")
    try:
        campaign = Campaign(args, seed, where)
        campaign.run()
    finally:
        shutil.rmtree(where)
    campaign.print_table("job", campaign.by_job)
    campaign.print_table("fault", campaign.tally)
    for what in "cut", "":
        ends = collections.Counter()
        for (kind, how), n in campaign.tally.items():
            if kind.startswith("cut") == bool(what):
                ends[how] += n
        faultreport.add("storage loses power: files of blksum and the filter"
                        if what else "storage fails, delays or lies: the same",
                        *(ends[how] for how in (RIGHT, ERROR, WRONG, HANG)))
    if campaign.failures:
        sys.exit("%d runs failed" % len(campaign.failures))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A campaign of warm migrations: random disks that change are copied in
passes, both ends continue their manifests, and each run has one kind of fault:

    none        nothing
    lost, misplaced, damaged, replayed
                a request of the client, or an old pass again: above the filter
    below       what was acknowledged is not on the disk, below the filter
    dropped     the change tracker lacks a range
    killed      the server, the client, blksum or its server, by SIGKILL

Each manifest and each sum must be that which the reference computes, of the
disk, or of what the filter received.  A fault above the filter is found by the
comparison of the manifests in every run in which it is still there at cutover;
one below it is always found by reading the destination, and a dropped range by
a manifest of the whole source.  How often the audits find these two before is
compared with the formula of the manuals, in such a way that this fails by
chance less than once in 10^6 times.  A right disk is never called different.
What was found is copied again, and then both disks are the same.

    test-migration.py --filter FILE.so

BLKHASH_SEED is the seed of the first run, BLKHASH_ROUNDS the number of runs.
A run that fails prints its seed, and leaves its files in the directory
BLKHASH_KEEP if that is set.  At the end it prints what was counted.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import faultreport
import refmanifest
from server import LIMIT, Aborted, Failed, keep_files
from warmcopy import Destination, written
from warmdisk import UNIT, Machine, is_plausible
from warmsource import Kill, Source

ABOVE = "lost", "misplaced", "damaged", "replayed"
FAULTS = ("none", *ABOVE, "below", "dropped", "killed")
SELDOM = 1e-6
MORE_AUDITS = 7                 # of a source with a dropped range


class Params:
    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.seed = seed
        self.fault = FAULTS[seed % len(FAULTS)]
        self.block_size = rng.choice((4096, UNIT, UNIT, UNIT, 1 << 18))
        self.size = rng.randrange(130, 500) * UNIT + \
            rng.choice((0, 512, 5000, 61000))
        self.passes = rng.randrange(2, 8)
        first = 2 if self.fault in ("replayed", "dropped") else 1
        self.fault_pass = rng.randrange(first, self.passes + 1)
        self.source_audit, self.copy_audit = (
            rng.choice(("0%", "0.1%", "0.1%", "10%", "50%")) for _ in range(2))
        self.by_nbd = rng.random() < 0.5

    def __str__(self):
        return ("seed %d: %s in pass %d of %d, %d bytes, blocks of %d, audits "
                "of %s and %s" % (
                    self.seed, self.fault, self.fault_pass, self.passes,
                    self.size, self.block_size, self.source_audit,
                    self.copy_audit))


class Tally:
    def __init__(self):
        self.counts = collections.Counter()
        self.audits = {"source": [], "destination": []}  # (Audit, found)


class Run:
    def __init__(self, args, seed, directory, tally):
        self.params = params = Params(seed)
        self.rng, self.dir, self.tally = params.rng, directory, tally
        self.machine = Machine(self.rng, params.size)
        self.source = Source(args, directory, self.rng, params)
        self.destination = Destination(args, directory, params)
        self.passes = []        # the requests of each
        self.kill = None
        self.is_audited = False # was there an audit of a wrong destination?

    def count(self, what):
        self.tally.counts[self.params.fault, what] += 1

    # ---- Passes ----

    def requests(self, ranges):
        """Copy the snapshot."""
        result = []
        for start, length in ranges:
            end = start + length
            while start < end:
                n = min(self.rng.choice((4096, UNIT, 1 << 20)), end - start)
                result.append((start, self.source.snapshot[start:start + n]))
                start += n
        return result

    def add_fault(self, requests):
        """One that changes the destination, if that is possible."""
        rng, fault, disk = self.rng, self.params.fault, self.destination.disk
        differ = [i for i, (offset, data) in enumerate(requests)
                  if disk[offset:offset + len(data)] != data]
        i = rng.choice(differ) if differ else 0
        offset, data = requests[i]
        if fault == "lost":
            del requests[i]
        elif fault == "misplaced":
            requests[i] = rng.randrange(len(disk) - len(data) + 1), data
        elif fault == "damaged":
            at = rng.randrange(len(data))
            byte = data[at] ^ rng.randrange(1, 256)
            requests[i] = offset, data[:at] + bytes([byte]) + data[at + 1:]
        elif fault == "replayed":
            requests += rng.choice(self.passes)

    def drop(self, changes):
        """A range in which the source has changed."""
        known, now = self.source.known, self.source.snapshot
        differ = [r for r in changes
                  if known[r[0]:sum(r)] != now[r[0]:sum(r)]]
        changes.remove(self.rng.choice(differ))

    def run_pass(self, n):
        """Returns false if an audit at the source has found that the tracker is
        wrong."""
        params, is_faulty = self.params, n == self.params.fault_pass
        self.source.take_snapshot(bytes(self.machine.disk))
        changes = self.machine.take_changes()
        if n == 1:
            changes = [(0, params.size)]
        if is_faulty and params.fault == "dropped":
            self.drop(changes)
        self.machine.write_some()
        requests = self.requests(changes)
        self.copy(requests, is_faulty)
        self.passes.append(requests)
        done = self.source.update(changes if n > 1 else None, self.kill_of(
            is_faulty, "blksum", "source"))
        if is_faulty and params.fault == "dropped":
            self.count_audits(changes, not done)
        return done

    def count_audits(self, changes, found):
        audit, audits = self.source.audit, self.tally.audits["source"]
        audits.append((audit, found))
        for _ in range(MORE_AUDITS):
            audits.append((audit, self.source.audit_again(changes)))

    def kill_of(self, is_faulty, *parties):
        if not is_faulty or self.params.fault != "killed":
            return None
        self.kill = self.kill or Kill(self.rng)
        if self.kill.party not in parties:
            return None
        self.count(self.kill.party)
        return self.kill

    def copy(self, requests, is_faulty):
        """A faulty pass, or a right one."""
        destination, fault = self.destination, self.params.fault
        kill = self.kill_of(is_faulty, "server", "copier")
        if kill:
            destination.run_pass(requests, kill=kill)
        if is_faulty and fault in ABOVE:
            requests = list(requests)
            self.add_fault(requests)
        is_lost = is_faulty and fault == "below"
        is_whole = self.rng.random() < 0.5
        before = destination.disk
        found = not destination.run_pass(requests, is_lost and is_whole)
        if destination.audit and not self.is_audited:
            self.is_audited = True
            self.tally.audits["destination"].append((destination.audit, found))
        if is_lost and not is_whole:
            self.lose_one(before, requests)

    def lose_one(self, before, requests):
        """One request is not on the disk when the server has ended."""
        disk = self.destination.disk
        offset, data = self.rng.choice([
            (offset, data) for offset, data in requests
            if before[offset:offset + len(data)] !=
            disk[offset:offset + len(data)]] or requests)
        with open(self.destination.path, "r+b") as f:
            f.seek(offset)
            f.write(before[offset:offset + len(data)])
        self.destination.disk = written(
            disk, [(offset, before[offset:offset + len(data)])])

    # ---- Cutover ----

    def compare(self, a, b, expected):
        """EXPECTED are the two contents, or None if a manifest is empty.
        Returns the ranges that differ, or None."""
        done = subprocess.run(
            ["blkhash", "compare", "--output=json", "-d",
             "sha256/%d" % self.params.block_size, a, b],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True)
        if expected is None:
            status, ranges = 2, None
        else:
            ranges = refmanifest.diff(*expected, self.params.block_size)[0]
            status = 1 if ranges else 0
        found = None
        if status < 2 and done.returncode < 2:
            found = [[r["start"], r["length"]]
                     for r in json.loads(done.stdout)["ranges"]]
        if done.returncode != status or found != ranges:
            raise Failed("WRONG COMPARISON of %s and %s: %d, %s, not %s\n%s" % (
                a, b, done.returncode, found, ranges, done.stderr))
        return ranges

    def compare_manifests(self):
        destination = self.destination
        return self.compare(
            "manifest:" + self.source.path,
            "manifest:" + destination.manifest_path,
            destination.described and (self.source.known,
                                       destination.described))

    def compare_disk(self):
        """What the manifest of the source says, with the whole destination."""
        return self.compare("manifest:" + self.source.path,
                            self.destination.path,
                            (self.source.known, self.destination.disk))

    def cutover(self):
        fault, source = self.params.fault, self.source
        is_right = self.destination.disk == source.snapshot
        found = self.compare_manifests()
        differs = self.compare_disk()
        if is_right or fault in ("none", "killed"):
            if found != [] or differs or not is_right:
                raise Failed("NOT IDENTICAL: %s %s" % (found, differs))
            self.count("right" if fault in ("none", "killed") else
                       "not there any more at cutover")
        elif found:
            self.count("found by the manifests")
        elif fault in ABOVE:
            raise Failed("NOT FOUND")
        elif found is None:
            self.count("found by the audit of the destination")
        elif differs:
            self.count("found by reading the destination, not by the manifests")
        else:
            self.count("found by a full manifest of the source, not before")

    def repair(self):
        """Read both disks, and copy again what differs."""
        destination = self.destination
        self.source.update(None)
        ranges = self.compare_disk()
        if destination.described is None:
            ranges = ranges or [[0, 512]]
        destination.run_pass(self.requests(ranges))
        if destination.described is None:   # the audit has found a difference
            destination.run_pass(self.requests([[0, 512]]))
        if destination.disk != self.source.snapshot:
            raise Failed("NOT REPAIRED")
        differ = self.compare_manifests()
        if differ:
            destination.run_pass(self.requests(differ))
        if self.compare_manifests() != []:
            raise Failed("NOT IDENTICAL after it was copied again")

    def run(self):
        self.machine.write_some()
        for n in range(1, self.params.passes + 1):
            if not self.run_pass(n):
                self.count("found by the audit of the source")
                break
        else:
            self.cutover()
        self.repair()


def one_run(args, seed, tally):
    """Returns None, or the failure."""
    directory = tempfile.mkdtemp(prefix="migration-")
    run = Run(args, seed, directory, tally)
    try:
        run.run()
    except Aborted as e:
        run.count(str(e))
    except Failed as e:
        keep_files(directory, seed)
        return "%s\n%s\n%s" % (run.params, run.kill or "", e)
    finally:
        shutil.rmtree(directory)
    return None


def check_audits(tally):
    """Returns whether the audits found as much as they should."""
    is_right = True
    for where, audits in tally.audits.items():
        found = sum(was_found for _, was_found in audits)
        print("audits of a wrong %s: %d, of which %d found it, expected at "
              "least %.1f, computed %.1f" % (
                  where, len(audits), found,
                  sum(audit.lowest for audit, _ in audits),
                  sum(audit.exact for audit, _ in audits)))
        is_right &= is_plausible([audit for audit, _ in audits], found,
                                 SELDOM / 2)
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--wrapper", default="")
    args = parser.parse_args()
    args.sanitizer = "LD_PRELOAD" in args.wrapper
    args.more_threads = 0
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 8)
    print("BLKHASH_SEED=%d BLKHASH_ROUNDS=%d" % (seed, rounds), flush=True)
    tally, failures = Tally(), []
    for i in range(seed, seed + rounds):
        failure = one_run(args, i, tally)
        if failure:
            failures.append(str(i))
            print(failure, flush=True)
    for fault in FAULTS:
        for (of, what), n in sorted(tally.counts.items()):
            if of == fault:
                print("%6d  %-10s %s" % (n, fault, what))
    faultreport.add("a copy in passes goes wrong, or is killed",
                    rounds - len(failures), 0, len(failures))
    if not check_audits(tally):
        failures.append("the audits")
    if failures:
        sys.exit("of %d runs failed: %s" % (rounds, " ".join(failures)))


if __name__ == "__main__":
    main()

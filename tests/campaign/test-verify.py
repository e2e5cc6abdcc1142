#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adversaries of the verify filter: random disks with random faults, and
manifests that change, read by four kinds of client.

Not one byte may be delivered that is not the disk's; no block may be refused
that the plugin can read; and nothing hangs.  The faults of the plugin
(faults-plugin.c) are flipped bits, zeros, bytes of another place or of another
disk, shifted reads, reads that store less than they should, that fail, and that
differ each time.  What the filter writes about the disks, result, status
and mapfile, agrees with that.

A run has one manifest, or several exports with a manifest for each, whose
clients are there at once.  Manifests are cut, flipped, overwritten, replaced
and grown at random moments.

    test-verify.py --filter FILE.so --plugin FILE.so

BLKHASH_SEED is the seed of the first run, BLKHASH_ROUNDS the number of runs.  A
run that fails prints its seed, and leaves its files in the directory
BLKHASH_KEEP if that is set.  At the end it prints what was counted.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

import faultreport
import verifyfiles
from server import Aborted, Failed, Server, keep_files
from verifyclients import Clients
from verifydisk import Disk
from verifyfiles import FAIL, PASS


class Params:
    """Of the server."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.several = rng.random() < 0.4       # exports
        self.retry = rng.choice((0, 1, 1, 3))
        self.fail = rng.choice(("error", "error", "stop"))
        self.zero = rng.choice(("skip", "skip", "read"))
        self.attack = rng.random() < 0.4
        self.trusted = not self.attack and rng.random() < 0.2
        self.killed = rng.random() < 0.2        # and not ended by SIGTERM
        self.names = ["a"]
        if self.several:
            self.names = rng.sample(("a", "b b", "c\\d", "\u00e9", "e%s"),
                                    rng.randrange(2, 6))

    def __str__(self):
        return "seed %d: retry %d, %s, zero=%s%s%s" % (
            self.seed, self.retry, self.fail, self.zero,
            ", trusted" if self.trusted else "",
            ", killed" if self.killed else "")


class Run:
    def __init__(self, args, seed, directory, tally):
        self.args, self.dir, self.tally = args, directory, tally
        self.params = params = Params(seed)
        self.manifests = os.path.join(directory, "disks")
        os.mkdir(self.manifests)
        self.disks = [Disk(params, name, self.manifests)
                      for name in params.names]

    def describe(self):
        return "\n".join([str(self.params)] + [
            "  " + disk.describe() for disk in self.disks])

    def path(self, name):
        return os.path.join(self.dir, name)

    # ---- The server ----

    def manifest_parameters(self):
        params, disk = self.params, self.disks[0]
        if not params.several:
            yield "manifest=" + disk.path(".blkm")
            yield "sum=" + ("none" if params.trusted else disk.sum("%s:%s"))
            yield "mapfile=" + self.path("map")
            yield "export=" + disk.name
            return
        yield "manifest-dir=" + self.manifests
        if params.trusted:
            yield "sum=none"
            return
        with open(self.path("sums"), "w") as f:
            for disk in self.disks:
                print(verifyfiles.line_of(disk), file=f)
        yield "sums=" + self.path("sums")

    def parameters(self):
        params = self.params
        return (*self.manifest_parameters(), "retry=%d" % params.retry,
                "fail=" + params.fail, "zero=" + params.zero,
                "file=" + self.path("result"), "status=" + self.path("status"))

    def serve(self):
        self.server = Server(self.args, self.path("nbd.sock"), [
            "--filter=" + self.args.filter, self.args.plugin,
            "dir=" + self.manifests, *("blkhash-verify-" + parameter
                                       for parameter in self.parameters())],
            self.disks[0].path(".disk"))
        self.server.start()

    # ---- A run ----

    def run_clients(self):
        """Those of different disks at once.  Raises the first failure, also that
        of a thread.  One connection to each disk stays open, so that the states
        of its blocks do not begin anew."""
        failures = []
        kept = [Clients(disk, self.server, self.dir).connect()
                for disk in self.disks]

        def run(disk):
            try:
                Clients(disk, self.server, self.dir).run()
            except Exception as e:
                failures.append(e)
        threads = [threading.Thread(target=run, args=(disk,))
                   for disk in self.disks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for disk in self.disks:
            self.tally.update(disk.tally)
        if failures:
            raise failures[0]
        for h in kept:
            h.shutdown()

    def run(self):
        self.run_clients()
        number = signal.SIGKILL if self.params.killed else signal.SIGTERM
        self.server.process.send_signal(number)
        self.server.wait_for_end(number, "at the end")
        self.server.check_log()
        self.check_files()
        if not self.params.killed:
            self.check_counts()

    def check_files(self):
        paths = {name: self.path(name) for name in ("result", "status", "map")}
        try:
            exports = verifyfiles.check_files(paths, self.params, self.disks)
        except (verifyfiles.Wrong, OSError, ValueError, KeyError) as e:
            raise Failed("WRONG FILES: %r" % e)
        for export in exports:
            self.tally["files: " + ("of a killed server" if self.params.killed
                                    else export["result"])] += 1

    def check_counts(self):
        """The filter counted no other blocks as different or unreadable."""
        found = re.findall(r"blocks: (\d+) ok, (\d+) differ, (\d+) unreadable, "
                           r"(\d+) transient", self.server.log())
        if not found:
            if self.params.several and not any(
                    disk.connected for disk in self.disks):
                return
            raise Failed("there are no counts")
        ok, differ, unreadable, transient = (
            sum(map(int, column)) for column in zip(*found))
        outcomes = [x for disk in self.disks for x in disk.outcomes]
        if differ + unreadable > sum(x != PASS for x in outcomes) or \
           ok > sum(x != FAIL for x in outcomes) or \
           (transient and all(x.times == -1 for disk in self.disks
                              for x in disk.faults)):
            raise Failed("WRONG COUNTS: %s" % found)
        for name, n in ("ok", ok), ("differ", differ), \
                ("unreadable", unreadable), ("transient", transient):
            self.tally["blocks: " + name] += n


def one_run(args, seed, tally):
    """Returns None, or the failure."""
    directory = tempfile.mkdtemp(prefix="verify-")
    run = Run(args, seed, directory, tally)
    try:
        run.serve()
        run.run()
        tally["runs"] += 1
        tally["runs with several exports"] += run.params.several
    except Aborted as e:
        tally[str(e)] += 1
    except Failed as e:
        keep_files(directory, seed)
        return "%s\n%s" % (run.describe(), e)
    finally:
        if hasattr(run, "server"):
            run.server.kill()
        shutil.rmtree(directory)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--wrapper", default="")
    args = parser.parse_args()
    args.sanitizer = "LD_PRELOAD" in args.wrapper
    args.more_threads = 0
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 30)
    print("BLKHASH_SEED=%d BLKHASH_ROUNDS=%d" % (seed, rounds), flush=True)
    tally, failures = collections.Counter(), []
    for i in range(seed, seed + rounds):
        failure = one_run(args, i, tally)
        if failure:
            failures.append(str(i))
            print(failure, flush=True)
    for what in sorted(tally):
        print("%8d  %s" % (tally[what], what))
    faultreport.add("plugins that lie or fail: blkhash-verify",
                    tally["runs"], 0, len(failures))
    if failures:
        sys.exit("%d of %d runs failed: %s" % (len(failures), rounds,
                                               " ".join(failures)))
    if not tally["runs"]:
        sys.exit("no run was complete")


if __name__ == "__main__":
    main()

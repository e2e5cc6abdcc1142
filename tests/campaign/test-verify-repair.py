#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adversaries of online repair: random disks with random damage behind the verify
filter, and one to three repair sources, which repairsource.py describes.

Clients get the right bytes if the plugin or a source has them, and else an error
as blkhash-verify-fail decides.  Nothing is written to the disk, and the ranges
of the status are what is damaged.

    test-verify-repair.py --filter FILE.so --plugin FILE.so

BLKHASH_SEED is the seed of the first run, BLKHASH_ROUNDS the number of runs.  A run
that fails prints its seed, and leaves its files in the directory BLKHASH_KEEP if
that is set.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

import faultreport
import verifyfiles
from repairdisk import RepairDisk
from repairsource import NO, YES, Source
from server import Aborted, Failed, Server, keep_files
from verifyclients import Clients
from verifyfiles import FAIL, MAY, PASS


class Params:
    several = attack = False    # of the campaign without repair

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.retry = rng.choice((0, 1, 1, 3))
        self.fail = rng.choice(("error", "error", "error", "warn", "stop"))
        self.zero = rng.choice(("skip", "read"))
        self.trusted = rng.random() < 0.1
        self.truncate = rng.random() < 0.2
        self.flaky = rng.random() < 0.3
        self.unreadable = rng.random() < 0.4
        self.damages = rng.choice((0, 1, 3, 10, 40))
        self.is_other = rng.random() < 0.05
        self.sources = rng.choice((1, 1, 2, 3))
        self.clients = rng.choice((1, 1, 2, 4))
        self.constrained = rng.random() < 0.3

    def __str__(self):
        return ", ".join("%s %s" % item for item in vars(self).items())


class Run:
    def __init__(self, args, seed, directory, tally):
        self.args, self.dir, self.tally = args, directory, tally
        self.params = Params(seed)
        self.rng = random.Random("%d run" % seed)
        self.disk = RepairDisk(self.params, directory)
        self.min, self.max = self.any_constraints()
        self.disk.max_read = self.max

    def any_constraints(self):
        """Of the plugin."""
        if not self.params.constrained:
            return 0, 0
        least = 1 << self.rng.randrange(
            min(self.disk.block_size.bit_length(), 17))
        return least, max(512, least) << self.rng.randrange(4)

    def describe(self):
        return "\n  ".join([str(self.params), self.disk.describe()] +
                           [str(source) for source in self.sources])

    def path(self, name):
        return os.path.join(self.dir, name)

    # ---- The server ----

    def parameters(self):
        params, disk = self.params, self.disk
        yield "manifest=" + disk.path(".blkm")
        yield "sum=" + ("none" if params.trusted else disk.sum("%s:%s"))
        yield from ("retry=%d" % params.retry, "fail=" + params.fail,
                    "zero=" + params.zero, "file=" + self.path("result"),
                    "status=" + self.path("status"),
                    "mapfile=" + self.path("map"))
        if params.truncate:
            yield "size=truncate"
        for source in self.sources:
            yield "repair=" + source.path

    def serve(self):
        self.server = Server(self.args, self.path("nbd.sock"), [
            "--filter=" + self.args.filter, self.args.plugin, "dir=" + self.dir,
            "min=%d" % self.min, "max=%d" % self.max,
            *("blkhash-verify-" + x for x in self.parameters())],
            self.disk.path(".disk"))
        self.server.start()

    def end(self):
        if hasattr(self, "server"):
            self.server.kill()

    # ---- Clients ----

    def new_client(self, number):
        directory = self.path("client%d" % number)
        os.makedirs(directory, exist_ok=True)
        client = Clients(self.disk, self.server, directory)
        client.rng = random.Random("%d client %d" % (self.params.seed, number))
        return client

    def together(self, functions):
        """Run them in threads, and raise the first failure."""
        failures = []

        def run(function):
            try:
                function()
            except Exception as e:
                failures.append(e)
        threads = [threading.Thread(target=run, args=(function,))
                   for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def run_clients(self):
        clients = [self.new_client(i) for i in range(self.params.clients)]
        ends = [source.begin() for source in self.sources]
        try:
            if len(clients) == 1:       # one request at a time
                clients[0].small_reads()
                clients[0].large_reads()
            else:
                self.together([client.run for client in clients])
        finally:
            for end in ends:
                end()

    def scrub(self):
        """Read each block alone."""
        client = self.new_client(0)
        h = client.connect()
        for block in range(self.disk.blocks.count):
            start, end = self.disk.range_of(block)
            client.read(h, "scrub", end - start, start)
        h.shutdown()

    # ---- The end ----

    def end_server(self):
        self.server.process.send_signal(signal.SIGTERM)
        self.server.wait_for_end(signal.SIGTERM, "at the end")
        self.server.check_log()

    def check_block(self, block, state):
        """STATE: in the status.  A block that is bad in one read and right in
        another resets the states of all others: they are missing."""
        disk = self.disk
        base, has = disk.base[block], disk.has[block]
        self.tally["blocks: " + state] += 1
        bad = {NO: "du", YES: "r"}.get(has, "dur")
        if state not in ("+m" if base == PASS else bad if base == FAIL
                         else "+m" + bad) + "m" * (MAY in disk.base):
            raise Failed("WRONG STATE: block %d (base %d, has %d) is %s" % (
                block, base, has, state))

    def check_files(self):
        disk, params = self.disk, self.params
        try:
            exports = verifyfiles.read_status(self.path("status"), True)
            export, = exports.values()
            states = verifyfiles.check_status(export, disk.blocks)
            mapped = verifyfiles.read_mapfile(self.path("map"), disk.blocks)
            verifyfiles.check_mapfile(mapped, export, disk.blocks, states)
            line = verifyfiles.expected_line(export, disk.sum("%s (-) = %s"))
            verifyfiles.check(verifyfiles.read_result(self.path("result")) ==
                              [line], "result: not %s" % line)
        except (verifyfiles.Wrong, OSError, ValueError, KeyError) as e:
            raise Failed("WRONG FILES: %r" % e)
        with open(disk.path(".disk"), "rb") as f:
            if f.read() != disk.damaged + disk.extra:
                raise Failed("THE DISK WAS WRITTEN")
        stopped = params.fail == "stop" and max(disk.outcomes) != PASS
        if export["ranges-complete"] and not stopped:
            for block, state in enumerate(states):
                self.check_block(block, state)
        self.tally["result: " + export["result"]] += 1

    def run(self):
        self.sources = [Source(self.disk, i, self.path("source%d" % i))
                        for i in range(self.params.sources)]
        self.disk.set_sources(self.sources)
        self.serve()
        self.run_clients()
        self.scrub()
        self.end_server()
        self.check_files()
        for source in self.sources:
            self.tally["source: " + source.kind] += 1
        self.tally.update(self.disk.tally)


def one_run(args, seed, tally):
    """Returns the failure, or None."""
    directory = tempfile.mkdtemp(prefix="repair-")
    run = None
    try:
        run = Run(args, seed, directory, tally)
        run.run()
        tally["runs"] += 1
    except Aborted as e:
        tally[str(e)] += 1
    except Failed as e:
        keep_files(directory, seed)
        return "%s\n%s" % (run.describe(), e)
    finally:
        if run:
            run.end()
        shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--wrapper", default="")
    args = parser.parse_args()
    args.sanitizer = "LD_PRELOAD" in args.wrapper
    args.more_threads = 0
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 20)
    print("BLKHASH_SEED=%d BLKHASH_ROUNDS=%d" % (seed, rounds), flush=True)
    tally, failures = collections.Counter(), []
    for seed in range(seed, seed + rounds):
        failure = one_run(args, seed, tally)
        if failure:
            failures.append(str(seed))
            print(failure, flush=True)
    for what in sorted(tally):
        print("%8d  %s" % (tally[what], what))
    faultreport.add("sources lie or change: repair by blkhash-verify",
                    rounds - len(failures), 0, len(failures))
    if failures:
        sys.exit("%d runs failed: %s" % (len(failures), " ".join(failures)))
    if not tally["runs"]:
        sys.exit("no run was complete")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adversaries of online repair: random disks with random damage behind the verify
filter, and one to three repair sources, which repairsource.py describes.

Clients get the right bytes if the plugin or a source has them, and else an error
as blkhash-verify-fail decides.  Without blkhash-verify-repair-write nothing is
written.  With it, the plugin (faults-plugin.c) logs each request, and a write must
be the right content of a whole block that was bad when it was read before; writes
fail, are torn, and are lost; and there are no more than blkhash-verify-repair-limit.
At the end the disk is right but for the blocks that no source has, and these are
the bad ranges of the status.

With --kills the server is killed while it repairs, within a write or at a random
moment, and started again, until the disk is right.

    test-verify-repair-campaign.py [--kills] --filter FILE.so --plugin FILE.so

BLKHASH_SEED is the seed of the first run, BLKHASH_ROUNDS the number of runs, or of
kills.  A run that fails prints its seed, and leaves its files in the directory
BLKHASH_KEEP if that is set.
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
import nbd
import verifyfiles
from repairdisk import Log, PluginFault, RepairDisk
from repairsource import NO, YES, Source
from server import LIMIT, Aborted, Failed, Server, keep_files
from verifyclients import Clients
from verifyfiles import FAIL, PASS

TIMEOUT = 3600                  # seconds: much longer than a run
FREE_WRITES = 8                 # before any block was right


class Params:
    several = attack = False    # of the campaign without repair

    def __init__(self, seed, kills):
        rng = random.Random(seed)
        self.seed, self.kills = seed, kills
        self.retry = rng.choice((0, 1, 1, 3))
        self.fail = rng.choice(("error", "error", "error", "warn", "stop"))
        self.zero = rng.choice(("skip", "read"))
        self.write = rng.random() < 0.65
        self.trusted = not self.write and rng.random() < 0.2
        self.limit = rng.choice((100, 100, 100, 100, 0, 1, 10, 50))
        self.truncate = rng.random() < 0.2
        self.flaky = rng.random() < 0.3
        self.unreadable = rng.random() < 0.4
        self.write_faults = self.write and rng.random() < 0.3
        self.damages = rng.choice((0, 1, 3, 10, 40))
        self.is_other = rng.random() < 0.05
        self.stalls = 0.5 if rng.random() < 0.06 else 0
        self.sources = rng.choice((1, 1, 2, 3))
        self.clients = rng.choice((1, 1, 2, 4))
        self.flush = rng.random() < 0.8
        self.fua = rng.random() < 0.3
        self.constrained = rng.random() < 0.3
        if kills:
            self.fail, self.write, self.limit = "error", True, 100
            self.flaky = self.unreadable = self.write_faults = False
            self.trusted = self.truncate = self.is_other = False
            self.damages, self.sources, self.stalls = 150, 2, 0
            # Blocks of zeros count for the limit, which is one of data.
            self.zero = "skip"

    def __str__(self):
        return ", ".join("%s %s" % item for item in vars(self).items())


class Run:
    def __init__(self, args, seed, directory, tally):
        self.args, self.dir, self.tally = args, directory, tally
        self.params = Params(seed, args.kills)
        self.rng = random.Random("%d run" % seed)
        self.disk = RepairDisk(self.params, directory)
        self.sources, self.servers = [], 0
        self.min, self.max = self.any_constraints()
        self.disk.max_read = self.max

    def any_constraints(self):
        """Of the plugin.  A block can be written if its size is a multiple of
        the minimum."""
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
        if params.write:
            yield "repair-write=true"
            yield "repair-limit=%d%%" % params.limit
        if any(source.parameter.startswith("repair-uri=")
               for source in self.sources):
            yield "repair-timeout=%d" % self.timeout
        for source in self.sources:
            yield source.parameter

    def start_sources(self):
        for i in range(self.params.sources):
            self.sources.append(Source(
                self.args, self.disk, i, self.dir,
                "file" if self.params.kills else None))
        self.timeout = TIMEOUT
        if any(x.kind in ("stopped", "hold-read", "hold-open")
               for x in self.sources):
            # On a busy machine a good server could be as slow as this.
            self.timeout = 1
            for source in self.sources:
                if source.is_server():
                    source.limit(NO + 1)

    def serve(self):
        self.servers += 1
        self.log = self.path("log%d" % self.servers)
        self.server = Server(self.args, self.path("nbd%d.sock" % self.servers), [
            "--filter=" + self.args.filter, self.args.plugin, "dir=" + self.dir,
            "log=" + self.log, "min=%d" % self.min, "max=%d" % self.max,
            "flush=" + ("yes" if self.params.flush else "no"),
            "fua=" + ("yes" if self.params.fua else "no"),
            *("blkhash-verify-" + x for x in self.parameters())],
            self.disk.path(".disk"))
        self.server.start()

    def end(self):
        if hasattr(self, "server"):
            self.server.kill()
        for source in self.sources:
            source.end()

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

    def is_writable(self, block):
        """With blkhash-verify-size=truncate, the last block can share a block of
        the plugin with what follows."""
        end = self.disk.range_of(block)[1]
        return end % max(self.min, 1) == 0 or not self.disk.extra

    def content(self):
        with open(self.disk.path(".disk"), "rb") as f:
            return f.read()

    def check_writes(self):
        """Returns the log."""
        params, disk = self.params, self.disk
        log = Log(disk, self.log, params.clients == 1)
        if log.now != self.content():
            raise Failed("THE DISK IS NOT WHAT WAS WRITTEN TO IT")
        total = sum(log.writes)
        share = params.limit * disk.data_blocks() // 100
        self.limit = max(share, 1) if params.limit else 0
        if total > self.limit:
            raise Failed("%d WRITES, MORE THAN %d" % (total, self.limit))
        if params.flush and log.unflushed:
            raise Failed("NOT FLUSHED: %s" % log.unflushed)
        self.tally["writes"] += total
        return log

    def check_block(self, block, state, log):
        """STATE: in the status; "+" if there is no bad range."""
        params, disk = self.params, self.disk
        base, has = disk.base[block], disk.has[block]
        good, writes = log.is_good(block), log.writes[block]
        what = "block %d (base %d, has %d) is %s, %d writes, %s on the disk" % (
            block, base, has, state, writes, "good" if good else "bad")

        def need(condition):
            if not condition:
                raise Failed("WRONG STATE: " + what)
        self.tally["blocks: " + state] += 1
        need(state == "+" or base != PASS)
        need(base != PASS or writes == 0 or disk.touches(
            block, ("fail", "replace", "short")))
        need(state != "+" or base != FAIL or writes)
        need(state != "r" or has != NO)
        need(has != NO or writes == 0)
        need(writes <= 1 or disk.touches(block, ("fail", "replace", "short")))
        need(state != "+" or block not in log.lost)
        # Half of a write can be enough.
        need(state != "+" or writes == 0 or good or disk.touches(
            block, ("fail", "replace", "short")))
        if base != FAIL or disk.is_skipped(block) or disk.stopped_early:
            return
        sure = not disk.touches(block, (
            "fail", "replace", "short", "write-fail", "write-tear",
            "write-half", "write-lost", "flush-fail"))
        if has == NO:
            need(state in "bu")
        elif has == YES and (not params.write or not self.is_writable(block)):
            need(state == "r" and writes == 0)
        elif has == YES and sure and not self.limit_reached:
            need(state == "+" and good and writes == 1)
        elif has == YES:
            need(state in "r+")

    def check_files(self, log):
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
        total = sum(log.writes)
        self.limit_reached = export["repair-limit-reached"]
        if self.limit_reached and total != self.limit and (
                params.limit == 100 or total < FREE_WRITES):
            raise Failed("%d WRITES, BUT THE LIMIT IS %d" % (total, self.limit))
        disk.stopped_early = params.fail == "stop" and max(disk.outcomes) != PASS
        if export["repaired-blocks"] > total:
            raise Failed("MORE BLOCKS REPAIRED THAN WRITTEN")
        if export["bad-ranges-complete"] and not disk.stopped_early:
            for block, state in enumerate(states):
                self.check_block(block, state, log)
        self.tally["result: " + export["result"]] += 1
        self.tally["limit reached"] += self.limit_reached

    def run(self):
        self.start_sources()
        self.disk.set_sources(self.sources)
        self.serve()
        self.run_clients()
        self.scrub()
        self.end_server()
        self.check_files(self.check_writes())
        for source in self.sources:
            self.tally["source: " + source.kind] += 1
        self.tally.update(self.disk.tally)
        self.tally["runs with repair-write"] += self.params.write
        return 1


class KilledRun(Run):
    """Two files, of which one has each block."""

    def start_sources(self):
        super().start_sources()
        first, second = self.sources
        data = bytearray(self.disk.other)
        for block, has in enumerate(first.has):
            if has != YES or self.rng.random() < 0.5:
                start, end = self.disk.range_of(block)
                data[start:end] = self.disk.truth[start:end]
        second.content = bytes(data)
        second.write()
        second.has = [second.has_block(i)
                      for i in range(self.disk.blocks.count)]

    def read_all(self, number):
        """Until the server is killed."""
        disk, blocks = self.disk, list(range(self.disk.blocks.count))
        random.Random("%d order %d" % (self.params.seed, number)).shuffle(blocks)
        try:
            h = nbd.NBD()
            h.connect_unix(self.server.socket)
            for block in blocks:
                start, end = disk.range_of(block)
                disk.compare("block %d" % block, h.pread(end - start, start),
                             start)
            h.shutdown()
        except nbd.Error as e:
            if not self.may_end:
                raise Failed("refused: %s" % e)

    def count_writes(self):
        with open(self.log) as f:
            return f.read().count("write")

    def kill_later(self):
        """After some writes, or when the clients have read all."""
        wanted = self.rng.randrange(1 + len(self.bad_blocks()))
        deadline = time.monotonic() + LIMIT
        while self.count_writes() < wanted and not self.server.has_ended() and \
                self.reading and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(self.rng.random() * self.rng.choice((0, 0.001, 0.02)))
        self.server.process.kill()

    def bad_blocks(self):
        """Those that will be written."""
        now = self.content()
        return [i for i in range(self.disk.blocks.count)
                if not self.disk.is_skipped(i) and
                now[slice(*self.disk.range_of(i))] !=
                self.disk.truth[slice(*self.disk.range_of(i))]]

    def read_until_killed(self):
        self.may_end = self.reading = True
        bad = self.bad_blocks()
        by_plugin = self.rng.random() < 0.5 and bad
        self.disk.special = []
        if by_plugin:
            start, end = self.disk.range_of(self.rng.choice(bad))
            self.disk.special = [PluginFault("write-kill", start, end, 1)]
        with open(self.disk.path(".faults"), "w") as f:
            f.writelines("%s\n" % fault for fault in self.disk.special)
        self.serve()
        killer = threading.Thread(
            target=lambda: None if by_plugin else self.kill_later())
        killer.start()
        try:
            self.together([lambda i=i: self.read_all(i)
                           for i in range(self.params.clients)])
        finally:
            self.reading = False
            killer.join()
        self.server.wait_until("nbdkit is killed", self.server.has_ended)
        if self.server.process.returncode != -signal.SIGKILL:
            self.server.ended_badly("before it was killed")
        self.tally["killed by the plugin, within a write" if by_plugin
                   else "killed from outside"] += 1
        self.check_killed(len(bad))

    def check_killed(self, bad):
        """Each byte is as before, or right; and what was not written, or was
        good, is as before."""
        disk, now = self.disk, self.content()
        log = Log(disk, self.log, False)
        for block in range(disk.blocks.count):
            at = slice(*disk.range_of(block))
            if now[at] != log.now[at] and (block != log.last or any(
                    byte not in pair for byte, *pair in zip(
                        now[at], disk.initial[at], disk.truth[at]))):
                raise Failed("BLOCK %d WAS DAMAGED BY THE KILL" % block)
        if len(now) != len(disk.initial):
            raise Failed("THE SIZE OF THE DISK HAS CHANGED")
        left = len(self.bad_blocks())
        self.tally["killed when no block was repaired" if left == bad else
                   "killed when some blocks were repaired" if left else
                   "killed when all blocks were repaired"] += 1
        disk.initial = now

    def run(self):
        disk = self.disk
        self.start_sources()
        disk.set_sources(self.sources)
        kills = self.rng.randrange(1, 4)
        for _ in range(kills):
            self.read_until_killed()
        self.may_end, disk.special = False, []
        with open(disk.path(".faults"), "w"):
            pass
        self.serve()
        self.together([lambda i=i: self.read_all(i)
                       for i in range(self.params.clients)])
        self.end_server()
        self.check_writes()
        if self.bad_blocks():
            raise Failed("THE DISK IS NOT RIGHT AT THE END")
        return kills


def one_run(args, seed, tally):
    """Returns how much of the rounds it is, and the failure or None."""
    directory = tempfile.mkdtemp(prefix="repair-")
    run = None
    try:
        run = (KilledRun if args.kills else Run)(args, seed, directory, tally)
        done = run.run()
        tally["runs"] += 1
        return done, None
    except Aborted as e:
        tally[str(e)] += 1
    except Failed as e:
        keep_files(directory, seed)
        return 1, "%s\n%s" % (run.describe(), e)
    finally:
        if run:
            run.end()
        shutil.rmtree(directory)
    return 1, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--wrapper", default="")
    parser.add_argument("--kills", action="store_true")
    args = parser.parse_args()
    args.sanitizer = "LD_PRELOAD" in args.wrapper
    args.more_threads = 0
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 20)
    print("BLKHASH_SEED=%d BLKHASH_ROUNDS=%d" % (seed, rounds), flush=True)
    tally, failures, done = collections.Counter(), [], 0
    while done < rounds:
        n, failure = one_run(args, seed, tally)
        if failure:
            failures.append(str(seed))
            print(failure, flush=True)
        done += n
        seed += 1
    for what in sorted(tally):
        print("%8d  %s" % (tally[what], what))
    faultreport.add("killed at a random moment: repair by blkhash-verify"
                    if args.kills else
                    "sources lie, fail or stall: repair by blkhash-verify",
                    done - len(failures), 0, len(failures))
    if failures:
        sys.exit("%d runs failed: %s" % (len(failures), " ".join(failures)))
    if not tally["runs"]:
        sys.exit("no run was complete")


if __name__ == "__main__":
    main()

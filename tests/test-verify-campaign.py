#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Adversaries of the verify filter: random disks with random faults, and
manifests that change, read by four kinds of client.

Not one byte may be delivered that is not the disk's; no block may be refused
that the plugin can read; and nothing hangs.  The faults of the plugin
(faults-plugin.c) are flipped bits, zeros, blocks of another place, of another
disk or of an older one, reads that store less than they should, that fail, and
that differ each time.  What the filter writes about the disk, result, status
and mapfile, agrees with that.

    test-verify-campaign.py --filter FILE.so --plugin FILE.so

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
import subprocess
import sys
import tempfile
import threading
import time

import nbd
import reference
import refmanifest
import verifyfiles
from server import LIMIT, Aborted, Failed, Server, keep_files

PASS, MAY, FAIL = range(3)      # how a read of a block ends: see verifyfiles
CHANGED = "has changed since nbdkit started"
DIGESTS = ["sha256"] * 4 + ["sha512", "md5", "blake2b512", "sha1"]


class Fault:
    def __init__(self, run):
        rng, size = run.rng, len(run.truth)
        self.kind = rng.choice(("replace", "replace", "replace", "short",
                                "fail"))
        self.start = rng.randrange(size)
        self.end = min(size, self.start + rng.choice(
            (1, 1, 512, run.block_size, rng.randrange(1, size + 1))))
        self.times = rng.choice(run.times)
        if self.kind == "replace":
            run.wrong[self.start:self.end] = self.content(run)

    def content(self, run):
        """Wrong bytes; they can be right by chance."""
        rng, size, n = run.rng, len(run.truth), self.end - self.start
        kind = rng.randrange(5)
        if kind == 0:
            return bytes(n)
        if kind == 1:
            at = rng.randrange(size - n + 1)
            return run.truth[at:at + n]
        if kind == 2:
            return run.other[self.start:self.end]
        if kind == 3:                   # a shifted read
            return run.truth[self.start + 1:self.end] + b"\0"
        data = bytearray(run.truth[self.start:self.end])
        data[rng.randrange(n)] ^= 1 << rng.randrange(8)
        return data

    def __str__(self):
        return "%s %d %d %d" % (self.kind, self.start, self.end, self.times)

    def outcome(self, run, start, end):
        """Of a read of the block from START to END."""
        start, end = max(start, self.start), min(end, self.end)
        if start >= end or (self.kind == "replace" and
                            run.wrong[start:end] == run.truth[start:end]):
            return PASS
        if 0 < self.times <= run.retry:
            return PASS
        # What is in the buffer can be right.
        return FAIL if self.times == -1 and self.kind != "short" else MAY


class Run:
    def __init__(self, args, seed, directory, tally):
        self.args, self.seed, self.dir, self.tally = (args, seed, directory,
                                                      tally)
        self.rng = rng = random.Random(seed)
        self.truth, self.block_size = self.any_disk()
        self.other = self.any_content(len(self.truth))
        self.wrong = bytearray(self.truth)
        self.retry = rng.choice((0, 1, 1, 3))
        self.fail = rng.choice(("error", "error", "stop"))
        self.zero = rng.choice(("skip", "skip", "read"))
        # Always, a few times, too often to be read again, changing.
        few = [1] * (self.retry > 0) + [max(self.retry, 1)]
        self.times = rng.choice(([-1], few, few, [-1, *few],
                                 [-1, 0, 1, 2, self.retry + 1]))
        count = rng.choice((0, 1, 1, 3, 10, 40))
        # Bytes that are not stored first, so that others are wrong for certain.
        self.faults = sorted((Fault(self) for _ in range(count)),
                             key=lambda fault: fault.kind != "short")
        self.made = (rng.choice(DIGESTS), self.block_size,
                     rng.choice((0, 0, 3)), False)
        self.attack = rng.random() < 0.3        # of the manifest
        self.attacked = self.stopped = False
        self.killed = rng.random() < 0.2        # and not ended by SIGTERM
        self.blocks = verifyfiles.Blocks(len(self.truth), self.block_size)
        self.outcomes = [self.outcome(i) for i in
                         range(0, len(self.truth), self.block_size)]

    def describe(self):
        return ("seed %d: %d bytes, %s, retry %d, %s, zero=%s, %d faults%s" % (
            self.seed, len(self.truth), refmanifest.tag(*self.made),
            self.retry, self.fail, self.zero, len(self.faults),
            ", attack" if self.attack else ""))

    # ---- The disk ----

    def any_content(self, size):
        rng, data = self.rng, bytearray()
        while len(data) < size:
            n = rng.randrange(1, rng.choice((10000, size + 1)))
            data += bytes(n) if rng.random() < 0.5 else \
                rng.randbytes(min(n, 4096)) * (n // 4096 + 1)
        return bytes(data[:size])

    def any_disk(self):
        rng = self.rng
        if rng.random() < 0.07:         # more than the largest request
            block_size, size = 1 << rng.randrange(16, 25), 64 << 20
            size += rng.randrange(1, 5 << 20)
        else:
            block_size = 1 << rng.randrange(9, 19)
            size = rng.randrange(1, min(2000 * block_size, 3 << 20))
        return self.any_content(size), block_size

    def outcome(self, start):
        end = min(start + self.block_size, len(self.truth))
        if self.zero == "skip" and not any(self.truth[start:end]):
            return PASS
        return max((fault.outcome(self, start, end)
                    for fault in self.faults), default=PASS)

    def expected(self, offset, n):
        return max(self.outcomes[offset // self.block_size:
                                 (offset + n - 1) // self.block_size + 1])

    # ---- The server ----

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def serve(self):
        digest, block_size, streams, linear = self.made
        self.write("disk", self.truth)
        self.write("wrong", self.wrong)
        self.write("faults", "".join(
            "%s\n" % fault for fault in self.faults).encode())
        self.manifest = refmanifest.write(self.truth, *self.made)
        self.write("manifest", self.manifest)
        self.server = Server(self.args, self.path("nbd.sock"), [
            "--filter=" + self.args.filter, self.args.plugin,
            "file=" + self.path("disk"), "wrong=" + self.path("wrong"),
            "faults=" + self.path("faults"),
            "blkhash-verify-manifest=" + self.path("manifest"),
            "blkhash-verify-sum=%s:%s" % (
                refmanifest.tag(*self.made),
                reference.blkhash(self.truth, *self.made)),
            "blkhash-verify-retry=%d" % self.retry,
            "blkhash-verify-fail=" + self.fail,
            "blkhash-verify-zero=" + self.zero,
            "blkhash-verify-file=" + self.path("result"),
            "blkhash-verify-status=" + self.path("status"),
            "blkhash-verify-mapfile=" + self.path("map")], self.path("disk"))
        self.server.start()
        self.uri = "nbd+unix:///?socket=" + self.server.socket

    def change_manifest(self):
        """Change the file in place, also to the manifest of what the plugin
        really returns."""
        rng, size = self.rng, len(self.manifest)
        with open(self.path("manifest"), "r+b") as f:
            how = rng.randrange(5)
            if how == 0:
                f.truncate(rng.randrange(size))
            elif how == 1:
                at = rng.randrange(size)
                f.seek(at)
                f.write(bytes([self.manifest[at] ^ 1 << rng.randrange(8)]))
            elif how == 2:
                f.seek(size)
                f.write(b"x" * rng.randrange(1, 1000))
            else:
                f.write(refmanifest.write(rng.choice((
                    self.other, bytes(self.wrong), bytes(self.wrong))),
                    *self.made))
        self.tally["manifest changed"] += 1

    # ---- What clients got ----

    def may_be_refused(self):
        return self.attacked or (self.stopped and self.fail == "stop")

    def judge(self, what, failed, expected):
        """A read ended; EXPECTED is how it should."""
        if self.server.has_ended():
            self.server.ended_badly("while it served")
        self.tally["%s: %s" % (what.split()[0],
                               "refused" if failed else "right")] += 1
        if failed and expected == PASS and not self.may_be_refused():
            raise Failed("GOOD CONTENT REFUSED: %s" % what)
        if failed and expected == PASS and self.attacked and \
           self.fail != "stop" and CHANGED not in self.server.log():
            raise Failed("GOOD CONTENT REFUSED, AND NO REASON: %s" % what)
        if not failed and expected == FAIL:
            raise Failed("NOT REFUSED: %s" % what)
        self.stopped |= failed

    def compare(self, what, data, offset):
        if data != self.truth[offset:offset + len(data)]:
            raise Failed("BAD BYTES DELIVERED: %s" % what)

    def read(self, h, what, n, offset):
        what = "%s %d bytes at %d" % (what, n, offset)
        refusable = self.may_be_refused()
        try:
            data = h.pread(n, offset)
        except nbd.Error as e:
            if e.errno != "EIO":
                if self.server.has_ended():
                    self.server.ended_badly("while it served")
                raise Failed("%s: %s" % (what, e))
            data = None
        else:
            self.compare(what, data, offset)
        self.blocks.request(offset, n, data is None, not refusable)
        self.judge(what, data is None, self.expected(offset, n))

    # ---- Clients ----

    def connect(self):
        h = nbd.NBD()
        h.add_meta_context("base:allocation")
        h.connect_unix(self.server.socket)
        return h

    def small_reads(self):
        h, size = self.connect(), len(self.truth)
        for _ in range(self.rng.choice((10, 40))):
            n = min(512, size)
            offset = self.rng.randrange(size - n + 1)
            if self.rng.random() < 0.7:
                offset = offset // 512 * 512
            self.read(h, "small", n, offset)
        h.shutdown()

    def large_reads(self):
        h, size = self.connect(), len(self.truth)
        for _ in range(2):
            n = min(64 << 20, size)
            self.read(h, "large", n, self.rng.choice((0, size - n)))
        n = self.rng.randrange(1, n + 1)
        self.read(h, "large", n, self.rng.randrange(size - n + 1))
        self.extents(h)
        h.shutdown()

    def extents(self, h):
        found = []
        try:
            h.block_status(len(self.truth), 0, lambda context, offset, entries,
                           err: found.extend(entries))
        except nbd.Error:
            if not self.may_be_refused():
                raise Failed("EXTENTS REFUSED")
            return
        at = 0
        for n, flags in zip(found[::2], found[1::2]):
            zero = not any(self.truth[at:at + n])
            if flags & nbd.STATE_ZERO and (not zero or self.zero == "read"):
                raise Failed("WRONG EXTENT: %d bytes at %d" % (n, at))
            at += n
        self.tally["extents: right"] += 1

    def copy(self, what, *command):
        """A copier with one request at a time can break off without that nbdkit
        aborts.  What it has copied before is right."""
        destination = self.path("copy")
        if os.path.exists(destination):
            os.unlink(destination)
        expected = max(self.outcomes)
        try:
            done = subprocess.run([*command, destination], timeout=LIMIT,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired:
            self.server.hang(what)
        if done.returncode not in (0, 1):
            raise Failed("%s: status %d: %s" % (what, done.returncode,
                                                done.stderr))
        try:
            with open(destination, "rb") as f:
                data = f.read()
        except FileNotFoundError:
            data = b""
        if done.returncode == 0:
            # qemu-img rounds sizes to 512 bytes.
            extra = data[len(self.truth):]
            self.compare(what, data[:len(self.truth)], 0)
            if len(data) < len(self.truth) or any(extra) or len(extra) > 511:
                raise Failed("%s: %d bytes" % (what, len(data)))
        else:
            for at in range(0, len(self.truth), 512):
                part = data[at:at + 512]
                if any(part):
                    self.compare(what + " before it failed", part[:len(
                        self.truth) - at], at)
        self.blocks.request(0, len(self.truth), done.returncode != 0,
                            not self.may_be_refused())
        self.judge(what, done.returncode != 0, expected)

    def in_flight(self):
        """May a copier have many requests in flight, so that it must not break
        off?"""
        return max(self.outcomes) == PASS and not self.attack and \
            not self.stopped

    def nbdcopy(self):
        options = [] if self.in_flight() else ["--requests=1", "-C", "1"]
        if self.rng.random() < 0.3:
            options.append("--no-extents")
        self.copy("nbdcopy", "nbdcopy", *options, self.uri)

    def qemu_img(self):
        options = ["-m", "8", "-W"] if self.in_flight() else ["-m", "1"]
        self.copy("qemu-img", "qemu-img", "convert", "-f", "raw", "-O", "raw",
                  *options, self.uri)

    # ---- A run ----

    def run(self):
        clients = [self.small_reads, self.large_reads, self.nbdcopy]
        if shutil.which("qemu-img"):
            clients.append(self.qemu_img)
        self.rng.shuffle(clients)
        del clients[self.rng.choice((1, 4, 4, 4)):]
        when = self.rng.randrange(len(clients)) if self.attack else None
        for i, client in enumerate(clients):
            attacker = None
            if i == when:
                self.attacked = True
                attacker = threading.Timer(self.rng.choice((0, 0, 0.005)),
                                           self.change_manifest)
                attacker.start()
                if self.rng.random() < 0.5:
                    attacker.join()
            try:
                client()
            finally:
                if attacker:
                    attacker.join()
        number = signal.SIGKILL if self.killed else signal.SIGTERM
        self.server.process.send_signal(number)
        self.server.wait_for_end(number, "at the end")
        self.server.check_log()
        self.check_files()
        if not self.killed:
            self.check_counts()

    def check_files(self):
        zeros = [i for i in range(len(self.outcomes)) if not any(
            self.truth[i * self.block_size:(i + 1) * self.block_size])]
        digest = reference.blkhash(self.truth, *self.made)
        line = "%s (-) = %s" % (refmanifest.tag(*self.made), digest)
        paths = [self.path(name) for name in ("result", "status", "map")]
        args = (paths, self.blocks, self.outcomes,
                set(zeros if self.zero == "skip" else ()), line)
        try:
            if self.killed:
                verifyfiles.check_killed(*args)
                self.tally["files: of a killed server"] += 1
            else:
                export = verifyfiles.check_files(*args)
                self.tally["files: " + export["result"]] += 1
                if export["stopped"] != (self.fail == "stop" and 0 < export[
                        "bad-bytes"] + export["unreadable-bytes"]):
                    raise Failed("WRONG STATUS: stopped")
        except (verifyfiles.Wrong, OSError, ValueError, KeyError) as e:
            raise Failed("WRONG FILES: %r" % e)

    def check_counts(self):
        """The filter counted no other blocks as bad or unreadable."""
        found = re.search(r"blocks: (\d+) good, (\d+) bad, (\d+) unreadable, "
                          r"(\d+) transient", self.server.log())
        if not found:
            raise Failed("there are no counts")
        good, bad, unreadable, transient = map(int, found.groups())
        if bad + unreadable > sum(x != PASS for x in self.outcomes) or \
           good > sum(x != FAIL for x in self.outcomes) or \
           (transient and all(x.times == -1 for x in self.faults)):
            raise Failed("WRONG COUNTS: " + found[0])
        for name, n in ("good", good), ("bad", bad), \
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
    if failures:
        sys.exit("%d of %d runs failed: %s" % (len(failures), rounds,
                                               " ".join(failures)))
    if not tally["runs"]:
        sys.exit("no run was complete")


if __name__ == "__main__":
    main()

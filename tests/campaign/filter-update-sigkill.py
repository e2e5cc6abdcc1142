#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills nbdkit with blkhash-update=true at its system calls that touch files.

    filter-update-sigkill.py --filter FILE.so --dir DIR

strace shows which calls there are: of a server without a client; while a client
uses the disk, until the result of the filter is written; and when nbdkit ends
after that.  Then there is a run for each of these calls, in which nbdkit is killed
before it.  The manifest is then either empty or that of the disk as it is now, and
so is a sum; and the next server publishes those of the disk.

nbdkit has one thread for each connection, so that a call is known by its name
and its number in its thread.  BLKHASH_ROUNDS is the number of runs, which are a
random choice of BLKHASH_SEED if there are more calls.  Exits with 77 if strace
cannot attach.
"""

import argparse
import collections
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import faultreport
import nbd
import reference
import refmanifest

LIMIT = 300                     # timeout in seconds, far above a passing run
CALLS = ("trace=/^(open|creat|close$|rename|unlink|link|f(data)?sync"
         "|f?truncate|p?write|fallocate|fchmod)")
SIZE = 129 * 65536 + 1000
SUM = re.compile("^blk-sha256/64k \\(-\\) = ([0-9a-f]{64})$", re.M)


def need(condition, *why):
    if not condition:
        sys.exit("FAIL: " + " ".join(map(str, why)))


def wait_until(what, condition):
    deadline = time.monotonic() + LIMIT
    while not condition():
        need(time.monotonic() < deadline, "waited in vain:", what)
        time.sleep(0.002)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def segments(path):
    with open(path, "rb") as f:
        return list(reference.file_segments(f.fileno()))


# ---- Clients ----

def write(h):
    """Whole blocks, and blocks that must be read when the client has left."""
    h.pwrite(b"w" * 131072, 65536)
    h.pwrite(b"p" * 100, 70 * 65536 + 5)
    h.zero(65536, 3 * 65536)
    h.trim(3 * 65536, 80 * 65536 - 7)
    h.flush()


def write_again(h):
    h.pwrite(b"again", SIZE - 5)


def read(h):
    h.pread(SIZE, 0)


PHASES = (("alone", None), ("client", write), ("end", write),
          ("client", read), ("end", read))


# ---- The server ----

class Server:
    """nbdkit, which strace starts if there are OPTIONS for it."""

    def __init__(self, args, *options):
        self.dir = args.dir
        self.socket, self.pid_file = self.path("socket"), self.path("pid")
        for path in self.socket, self.pid_file:
            if os.path.exists(path):
                os.unlink(path)
        strace = ["strace", "-f", "-o", self.path("trace"), *options] \
            if options else []
        self.strace, self.log = None, open(self.path("log"), "w")
        self.process = subprocess.Popen(
            [*strace, "nbdkit", "-f", "-t", "1", "-U", self.socket,
             "-P", self.pid_file, "--filter=" + args.filter, "file",
             self.path("disk"), "blkhash-file=" + self.path("sums"),
             "blkhash-manifest=" + self.path("manifest"),
             "blkhash-update=true"], stderr=self.log)
        wait_until("nbdkit starts", lambda: self.has_ended() or
                   os.path.exists(self.pid_file) and content(self.pid_file))
        if not self.has_ended():
            self.pid = int(content(self.pid_file))

    def path(self, name):
        return os.path.join(self.dir, name)

    def has_ended(self):
        return self.process.poll() is not None

    def attach(self, *options):
        errors = self.path("strace.log")
        with open(errors, "w") as log:
            self.strace = subprocess.Popen(
                ["strace", "-f", "-o", self.path("trace"), *options,
                 "-p", str(self.pid)], stderr=log)
        wait_until("strace attaches", lambda: content(errors))
        if b"attached" not in content(errors):
            self.stop()
            print("SKIP: strace cannot attach here")
            sys.exit(77)

    def threads(self):
        try:
            return len(os.listdir("/proc/%d/task" % self.pid))
        except FileNotFoundError:
            return 0

    def use(self, client):
        """Returns when the result is written, or nbdkit has ended."""
        try:
            h = nbd.NBD()
            h.connect_unix(self.socket)
            client(h)
            h.shutdown()
        except nbd.Error:
            wait_until("nbdkit ends", self.has_ended)
        wait_until("a result", lambda: self.has_ended() or
                   content(self.path("sums")))
        wait_until("the connection is closed", lambda: self.threads() <= 1)

    def stop(self):
        """Returns the exit status, negative for a signal."""
        with contextlib.suppress(ProcessLookupError):   # it was killed
            if not self.has_ended():
                os.kill(self.pid, signal.SIGTERM)
        self.process.wait(LIMIT)
        if self.strace:
            self.strace.wait(LIMIT)
        self.log.close()
        return self.process.returncode


# ---- A run ----

def prepare(args):
    """The disk and its manifest."""
    for name in "disk", "manifest":
        subprocess.run(["cp", "--sparse=always",
                        os.path.join(args.dir, "good", name), args.dir],
                       check=True)
    for name in os.listdir(args.dir):
        if name.startswith(("sums", "manifest.")):
            os.unlink(os.path.join(args.dir, name))


def run(args, phase, client, *options):
    """A server that is traced in PHASE by strace with OPTIONS."""
    prepare(args)
    server = Server(args, *(options if phase == "alone" else ()))
    try:
        if phase == "client":
            server.attach(*options)
        if phase != "alone":
            server.use(client)
        if phase == "end":
            server.attach(*options)
        return server.stop()
    finally:
        server.process.kill()


def find_calls(args, phase, client):
    """The calls as (name, number), in their order."""
    status = run(args, phase, client, "-y", "-e", CALLS)
    need(status == 0, "nbdkit ended with", status)
    counts, first, calls = collections.Counter(), {}, []
    for line in content(os.path.join(args.dir, "trace")).decode().split("\n"):
        call = re.match(r"(\d+) +(\w+)\(", line)
        if call:
            thread, name = call.groups()
            counts[thread, name] += 1
            key = name, counts[thread, name]
            # The main thread, which comes later to the same number, is killed
            # in the phase "end".
            if first.setdefault(key, thread) == thread and args.dir in line:
                calls.append(key)
    return calls


def check_files(args):
    """Neither a manifest nor a sum of another disk."""
    disk = segments(os.path.join(args.dir, "disk"))
    manifest = content(os.path.join(args.dir, "manifest"))
    need(manifest in (b"", refmanifest.write(disk)), "a stale manifest")
    sums = os.path.join(args.dir, "sums")
    for line in open(sums) if os.path.exists(sums) else ():
        found = SUM.match(line)
        need(not found or found.group(1) == reference.blkhash(disk),
             "a stale sum")
    return bool(manifest)


def next_server(args):
    server = Server(args)
    try:
        need(not server.has_ended(), "the next server does not start")
        server.use(write_again)
        need(server.stop() == 0, "the next server ended badly")
    finally:
        server.process.kill()
    need(check_files(args), "the next server wrote no manifest")
    need(SUM.search(content(os.path.join(args.dir, "sums")).decode()),
         "the next server wrote no sum")
    left = {name for name in os.listdir(args.dir)
            if name.startswith(("sums.", "manifest."))}
    need(not left, "left behind:", left)


def kill_at(args, phase, client, name, number):
    status = run(args, phase, client, "-e", "trace=" + name, "-e",
                 "inject=%s:signal=KILL:when=%d" % (name, number))
    need(status == -signal.SIGKILL, "nbdkit ended with", status)
    has_manifest = check_files(args)
    next_server(args)
    return has_manifest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", required=True)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    seed = int(os.environ.get("BLKHASH_SEED") or time.time())
    rounds = int(os.environ.get("BLKHASH_ROUNDS") or 12)
    print("BLKHASH_SEED=%d BLKHASH_ROUNDS=%d" % (seed, rounds), flush=True)
    good = os.path.join(args.dir, "good")
    os.mkdir(good)
    shutil.move(os.path.join(args.dir, "disk"), good)
    with open(os.path.join(good, "manifest"), "wb") as f:
        f.write(refmanifest.write(segments(os.path.join(good, "disk"))))
    places = [(phase, client, *call) for phase, client in PHASES
              for call in find_calls(args, phase, client)]
    rng, tally = random.Random(seed), collections.Counter()
    for place in rng.sample(places, min(rounds, len(places))):
        phase, client, name, number = place
        what = "%s %s" % (phase, client.__name__ if client else "")
        print("killed at %s %d: %s" % (name, number, what), flush=True)
        tally[what, kill_at(args, *place)] += 1
    for (what, has_manifest), n in sorted(tally.items()):
        print("%8d  %-15s %s" % (n, what, "the manifest of the disk" if
                                 has_manifest else "no manifest"))
    print("of %d calls" % len(places))
    faultreport.add("killed at a system call: blkhash filter, update",
                    sum(tally.values()))


main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Repairs random disks from random sources by blkhash repair.

    repair-random.py --dir DIR [--seed S] [--rounds N] [--kill]

The model knows the good disk, the bad one and the sources as bytes, and nothing
of manifests.  It says whether the disk is refused, because more blocks are bad than
the limit allows, which blocks are repaired, which remain bad, or are not whole units of
direct I/O, and what the disk is then.  strace shows each
write: a bad block that a source has, once, and nothing else.  Without strace only the
disk is compared.

With --kill a round kills blksum at a random moment, several times.  After each,
blocks that were good are unchanged, and another run completes the repair.

The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.  Each round has a seed of its own: to repeat one that failed, give the
seed that it printed, and one round.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import faultreport

LIMIT = 300                     # timeout in seconds, far above a passing run
DETAILS = {
    "repairable": "a source has them", "bad": "no source has them",
    "unaligned": "they cannot be written directly: they are not whole units of "
                 "direct I/O"}


class Failure(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Failure(*why)


def write_file(name, data, sparse=False):
    """With SPARSE, pages of zeros are holes."""
    with open(name, "wb") as f:
        if not sparse:
            f.write(data)
            return
        f.truncate(len(data))
        for at in range(0, len(data), 4096):
            page = data[at:at + 4096]
            if any(page):
                f.seek(at)
                f.write(page)


def read_file(name):
    with open(name, "rb") as f:
        return f.read()


def bytes_written(pid):
    """The bytes that PID has written by system calls; 0 if that is unknown."""
    try:
        with open("/proc/%d/io" % pid) as f:
            return int(f.read().split()[3])
    except (OSError, IndexError):
        return 0


class Disk:
    """The good disk, and how its blocks are hashed."""

    def __init__(self, rng, kill):
        self.block = rng.choice((4096, 8192)) if kill else \
            rng.choice((512, 4096, 4096, 65536, 65536, 1 << 20))
        blocks = rng.randrange(200, 1500) if kill else \
            rng.randrange(1, 1 + min(600, (12 << 20) // self.block))
        # The last block can be short, and direct I/O can write it or not.
        size = blocks * self.block - rng.choice(
            (0, rng.randrange(self.block), rng.randrange(self.block) // 4096 * 4096))
        zeros = rng.choice((0, 0.3, 0.3, 0.95, 1))
        self.good = b"".join(
            bytes(self.block) if rng.random() < zeros else rng.randbytes(16) *
            (self.block // 16) for _ in range(blocks))[:max(size, 1)]
        self.digest = rng.choice(("sha256", "sha256", "sha512", "md5"))
        self.construction = rng.choice(("", "", "/s4", "/linear"))

    def blocks(self):
        return range(0, len(self.good), self.block)

    def of(self, data, at):
        """The whole block of DATA at AT, as long as that of the disk."""
        return data[at:min(at + self.block, len(self.good))]

    def damaged(self, rng, share):
        """A copy in which about this share of the blocks is damaged."""
        data = bytearray(self.good)
        for at in self.blocks():
            if rng.random() >= share:
                continue
            length = len(self.of(data, at))
            how = rng.randrange(4)
            if how == 0:
                data[at:at + length] = bytes(length)
            elif how == 1:
                data[at + rng.randrange(length)] ^= rng.randrange(1, 256)
            elif how == 2:
                other = self.of(data, rng.choice(self.blocks()))
                data[at:at + min(length, len(other))] = other[:length]
            else:
                data[at:at + length] = rng.randbytes(length)
        return bytes(data)


class Source:
    """An image that can have good blocks."""

    def __init__(self, rng, number, disk, args):
        self.name = "source%d" % number
        shares = (0, 0.1, 0.3) if args.kill else (0, 0.1, 0.5, 1)
        self.data = disk.damaged(rng, rng.choice(shares))
        how = rng.randrange(6)
        if how == 0:
            self.data += rng.randbytes(rng.randrange(1, 100000))
        elif how == 1:
            self.data = self.data[:rng.randrange(len(self.data) + 1)]
        self.fails = None       # at which byte a server fails
        kinds = ["raw"] * 4
        if args.nbdkit:
            kinds += ["nbd", "failing"]
        if args.qemu and len(self.data) % 512 == 0:
            kinds += ["qcow2"]
        self.kind = rng.choice(kinds) if self.data else "raw"
        if self.kind == "failing":
            self.fails = rng.randrange(len(self.data))

    def has(self, disk, at):
        wanted = disk.of(disk.good, at)
        if self.fails is not None and at <= self.fails < at + len(wanted):
            return False
        return disk.of(self.data, at) == wanted

    def make(self, rng, servers):
        """Returns the operand."""
        write_file(self.name, self.data, rng.random() < 0.5)
        path = os.path.abspath(self.name)
        if self.kind == "qcow2":
            subprocess.run(["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2",
                            self.name, self.name + ".qcow2"], check=True)
            return self.name + ".qcow2"
        if self.kind == "nbd":
            return servers.start("file", self.name)
        if self.kind == "failing":
            return servers.start(
                "eval", "get_size=echo %d" % len(self.data),
                "pread=[ $4 -gt %d ] || [ $(($4 + $3)) -le %d ] ||"
                " { echo EIO >&2; exit 1; }\n"
                "dd if=%s bs=64k skip=$4 count=$3"
                " iflag=skip_bytes,count_bytes status=none"
                % (self.fails, self.fails, path))
        return self.name


class Servers:
    """nbdkit, until the end of the round."""

    def __init__(self):
        self.running = []

    def start(self, *arguments):
        socket = os.path.abspath("nbd%d" % len(self.running))
        process = subprocess.Popen(
            ["nbdkit", "-f", "-U", socket, "-P", socket + ".pid", *arguments],
            stderr=subprocess.DEVNULL)
        self.running.append(process)
        end = time.monotonic() + LIMIT
        while not os.path.exists(socket + ".pid"):
            need(process.poll() is None and time.monotonic() < end, "nbdkit")
            time.sleep(0.005)
        return "nbd+unix:///?socket=" + socket

    def stop(self):
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait()


def traced_writes(name):
    """Offset and length of each write in the output of strace."""
    writes = []
    for line in read_file(name).decode(errors="replace").splitlines():
        # Signals, and threads that end.
        if any(mark in line for mark in ("+++", "---", "???")):
            continue
        found = re.search(r", (\d+), (\d+)\) += (\d+)$", line)
        need(found and found[1] == found[3], "unexpected call:", line)
        writes.append((int(found[2]), int(found[1])))
    return writes


class Round:
    def __init__(self, rng, args):
        self.rng, self.args = rng, args
        self.disk = Disk(rng, args.kill)
        self.bad = self.disk.damaged(rng, rng.choice((0, 0.02, 0.3, 1)
                                                     if not args.kill else
                                                     (0.5, 1)))
        self.sources = [Source(rng, i, self.disk, args)
                        for i in range(rng.randrange(1, 4))]
        self.limit = 100 if args.kill else rng.choice((100, 100, 100, 0, 1, 10, 50))
        self.dry = not args.kill and rng.random() < 0.15
        self.trailing = rng.randbytes(rng.choice((0, 0, 5000)))
        self.servers = Servers()
        self.align = max(4096, os.stat(".").st_blksize) # of what is written
        self.traced = args.strace and not args.kill

    # ---- The model ----

    def refused(self):
        """Are more blocks bad than the limit allows?"""
        data = sum(any(self.disk.of(self.disk.good, at)) for at in self.disk.blocks())
        bad = sum(state is not None for state in self.states())
        if self.limit == 100:
            return False
        if self.limit == 0 or data <= 1:
            return bad > 0
        return bad > max(1, data * self.limit // 100)

    def state(self, at):
        """None of a block that is good."""
        good = self.disk.of(self.disk.good, at)
        if self.disk.of(self.bad, at) == good:
            return None
        if at % self.align or len(good) % self.align:
            return "unaligned"
        if not any(good) or any(s.has(self.disk, at) for s in self.sources):
            return "repairable" if self.dry else "repaired"
        return "bad"

    def ranges(self):
        ranges = []
        for at in self.disk.blocks():
            state, length = self.state(at), len(self.disk.of(self.bad, at))
            if state is None:
                continue
            result = {"result": "repaired"} if state == "repaired" else \
                {"result": "differs", "detail": DETAILS[state]}
            last = ranges[-1] if ranges else {}
            if last == {**last, **result} and last["start"] + last["length"] == at:
                last["length"] += length
            else:
                ranges.append({"start": at, "length": length, **result})
        return ranges

    def states(self):
        return [self.state(at) for at in self.disk.blocks()]

    def repaired(self):
        """The disk afterwards."""
        data = bytearray(self.bad)
        for at in self.disk.blocks():
            if self.state(at) == "repaired":
                block = self.disk.of(self.disk.good, at)
                data[at:at + len(block)] = block
        return bytes(data) + self.trailing

    def writes(self):
        return [(at, len(self.disk.of(self.bad, at))) for at in self.disk.blocks()
                if self.state(at) == "repaired"]

    # ---- The run ----

    def make(self):
        disk = self.disk
        write_file("good", disk.good)
        tag = subprocess.run(
            ["blksum", "--tag", "--no-names", "--manifest", "blkm", "-d",
             "%s/%d%s" % (disk.digest, disk.block, disk.construction),
             "good"], check=True, stdout=subprocess.PIPE, text=True).stdout
        write_file("disk", self.bad + self.trailing, self.rng.random() < 0.5)
        name = os.path.abspath("disk")
        self.command = [
            "blkhash", "repair", "--output=json", "--manifest=blkm",
            "--sum=" + self.rng.choice((tag.strip(), "none")),
            "--limit=%d%%" % self.limit]
        for source in self.sources:
            self.command.append("--from=" + source.make(self.rng, self.servers))
        if self.dry:
            self.command.append("--dry-run")
        if self.trailing:
            self.command.append("--size=%d" % len(disk.good))
        self.command.append(name)

    def run(self):
        command = self.command
        if self.traced:
            command = ["strace", "-f", "-qq", "-o", "trace", "-P",
                       os.path.abspath("disk"), "-e",
                       "trace=write,writev,pwrite64,pwritev,pwritev2,"
                       "ftruncate,fallocate"] + command
        result = subprocess.run(command, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                timeout=LIMIT)
        return result.returncode, result.stdout, result.stderr

    def check(self):
        status, out, err = self.run()
        if self.refused():
            return self.check_refused(status, out, err)
        states = self.states()
        all_good = not {"bad", "repairable", "unaligned"} & set(states)
        need(status == (0 if all_good else 1), "exit status", status, err)
        expected = {"name": os.path.abspath("disk"), "ranges": self.ranges(),
                    "result": "ok" if all_good else "differs"}
        need(json.loads(out) == expected, out, expected)
        need(read_file("disk") == self.repaired(), "the disk is wrong")
        if self.traced:
            need(traced_writes("trace") == self.writes(), "writes",
                 traced_writes("trace"), self.writes())
        return states

    def check_refused(self, status, out, err):
        answer = json.loads(out)
        need(status == 2 and answer["result"] == "unknown", "not refused", out)
        need("it may be another disk; nothing was written" in answer["error"] and
             answer["error"] in err, answer, err)
        need(read_file("disk") == self.bad + self.trailing, "the disk changed")
        need(not self.traced or not traced_writes("trace"), "it was written")
        return ["refused"]

    # ---- Kills ----

    def check_killed(self):
        """Returns how many blocks are good that were bad."""
        now, good, n = read_file("disk"), self.disk.good, 0
        need(now[len(good):] == self.trailing, "trailing data changed")
        need(len(now) == len(good) + len(self.trailing), "another size")
        for at in self.disk.blocks():
            block = self.disk.of(now, at)
            if block == self.disk.of(self.bad, at):
                continue
            need(self.state(at) == "repaired", "a block changed at", at)
            if block == self.disk.of(good, at):
                n += 1
        return n

    def wait(self, process, duration, left):
        """Wait until a random moment of a run that takes so many seconds and
        writes LEFT blocks, most often between two writes."""
        if self.rng.random() < 0.3:
            time.sleep(self.rng.uniform(0, duration))
            return
        wanted = self.rng.randrange(left + 1) * self.disk.block
        while bytes_written(process.pid) < wanted and process.poll() is None:
            pass

    def kill(self):
        """Returns how many of the kills were within the writes."""
        start = time.monotonic()
        self.check()
        duration, within, done = time.monotonic() - start, 0, 0
        total = len(self.writes())
        write_file("disk", self.bad + self.trailing)
        for _ in range(self.args.kills):
            process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.wait(process, duration, total - done)
            process.send_signal(signal.SIGKILL)
            process.wait()
            done = self.check_killed()
            within += 0 < done < total
            if done == total:
                write_file("disk", self.bad + self.trailing)
                done = 0
        self.run()
        need(read_file("disk") == self.repaired(), "the disk is wrong")
        return within


def one_round(seed, args):
    rng = random.Random(seed)
    shutil.rmtree("round", ignore_errors=True)
    os.mkdir("round")
    os.chdir("round")
    this = Round(rng, args)
    try:
        this.make()
        return this.kill() if args.kill else this.check()
    except Failure as failure:
        print("seed %d: %s" % (seed, " ".join(map(str, failure.args))[:4000]))
        print(" ".join(getattr(this, "command", [])))
        print([(s.kind, len(s.data), s.fails) for s in this.sources])
        sys.exit(1)
    finally:
        this.servers.stop()
        os.chdir("..")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", type=int, default=int(
        os.environ.get("BLKHASH_SEED") or random.randrange(10**9)))
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS") or 20))
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--no-strace", dest="strace", action="store_false")
    parser.add_argument("--no-qemu", dest="qemu", action="store_false")
    parser.add_argument("--no-nbdkit", dest="nbdkit", action="store_false")
    args = parser.parse_args()
    os.chdir(args.dir)
    print("seed", args.seed, flush=True)
    results = [one_round(args.seed + i, args) for i in range(args.rounds)]
    if args.kill:
        print("%d of %d kills were within the writes" %
              (sum(results), args.kills * args.rounds))
        faultreport.add("killed at a random moment: blkhash repair",
                        args.kills * args.rounds)
        return
    for state in ("refused", "repaired", "repairable", "bad", "unaligned"):
        print(state, sum(states.count(state) for states in results))
    faultreport.add("sources lie or fail: blkhash repair", args.rounds)


main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills blksum --resume at random moments, and lets another run complete: the
sum and the manifest are right, and blocks that the manifest had are not read
again.

    blksum-resume-random.py --dir DIR [--seed S] [--rounds N]

A round is one kill, while a file is hashed, or a slow NBD server.  At the end
it prints how much work a kill lost, in seconds of an undisturbed run; no time
makes the test fail.  The seed is printed; BLKHASH_SEED and BLKHASH_ROUNDS have
the effect of the options.
"""

import argparse
import json
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # no __pycache__ in the source tree

import faultreport
import reference

BLOCK = 65536
LIMIT = 300                     # timeout in seconds, far above a passing run
RECORD_HEAD, RECORD_TAIL, HEADER = 16, 8, 512
END, ZERO = 2**64 - 1, 1 << 63
SYNCED = 2                      # seconds after which data is synced


class Failure(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Failure(*why)


def wait_for(what):
    end = time.monotonic() + LIMIT
    while not what():
        need(time.monotonic() < end, "waited too long")
        time.sleep(0.005)


def listens_at(path):
    """The path of a socket exists before it accepts connections."""
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
        except OSError:
            return False
    return True


def bytes_read(pid):
    """The bytes that PID has read by system calls; None if that is unknown."""
    try:
        with open("/proc/%d/io" % pid) as f:
            return int(f.readline().split()[1])
    except (OSError, IndexError):
        return None


def number_of_blocks(path, leaf_size):
    """The number of blocks in the complete records of a manifest, and the
    offset where the last record ends."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return 0, 0
    blocks, at = 0, HEADER
    while len(data) - at >= RECORD_HEAD + RECORD_TAIL:
        first, count = struct.unpack_from("<QQ", data, at)
        size = RECORD_HEAD + RECORD_TAIL
        size += 0 if count & ZERO else count * leaf_size
        if first != blocks or at + size > len(data):
            break
        blocks += count & ~ZERO
        at += size
    return blocks, at


def make_image(path, rng, size):
    with open(path, "wb") as f:
        while f.tell() < size:
            n = min(rng.choice((BLOCK // 2, BLOCK, 10 * BLOCK)),
                    size - f.tell())
            f.write(bytes(n) if rng.random() < 0.05 else rng.randbytes(n))


class Case:
    """An image, and the command line of blksum for it."""

    def __init__(self, where, rng, name, size, digest, options):
        self.name, self.rng, self.size = name, rng, size
        self.image = os.path.join(where, name)
        self.manifest = os.path.join(where, name + ".blkm")
        self.state = self.manifest + ".state"
        self.operand = self.image
        self.options = ["-d", digest, *options]
        make_image(self.image, rng, size)
        with open(self.image, "rb") as f:
            data = f.read()
        self.sum = reference.blkhash([data], digest, BLOCK)
        self.leaf_size = len(reference.new(digest).digest())
        self.write_expected(where)
        self.kills, self.lost = 0, []

    def write_expected(self, where):
        """The manifest that blksum writes, which other tests compare with the
        reference; also measures the rate."""
        expected = os.path.join(where, self.name + ".expected")
        start = time.monotonic()
        out = subprocess.run(
            ["blksum", *self.options, "--manifest", expected, self.image],
            check=True, capture_output=True, text=True).stdout
        self.rate = self.size / (time.monotonic() - start)
        need(out.startswith(self.sum + " "), "another sum than the reference")
        with open(expected, "rb") as f:
            self.expected = f.read()

    def start(self, *options):
        return subprocess.Popen(
            ["blksum", *self.options, "--output=json", "--resume",
             "--manifest", self.manifest, *options, self.operand],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def reader(self, process):
        """The process that reads the image."""
        return process.pid

    # ---- Killed ----

    def wait_random(self, process, blocks):
        """Wait a random time, or until the manifest is published."""
        if self.rng.random() < 0.2:
            before = self.inode()
            wait_for(lambda: process.poll() is not None or
                     (before and self.inode() != before))
        else:
            left = (self.size - blocks * BLOCK) / self.rate + SYNCED + 1
            end = time.monotonic() + self.rng.uniform(0, left)
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)

    def inode(self):
        try:
            return os.stat(self.manifest).st_ino
        except FileNotFoundError:
            return None

    def kill(self):
        """Run once and kill it.  True if the image is complete."""
        before, _ = number_of_blocks(self.manifest, self.leaf_size)
        process = self.start("--audit", "0%")
        reader = self.reader(process)
        read_before = bytes_read(reader) if reader != process.pid else 0
        self.wait_random(process, before)
        process.send_signal(signal.SIGSTOP)
        read = bytes_read(reader)
        process.kill()
        out, err = process.communicate()
        self.kills += 1
        if process.returncode == 0:
            self.check_finished(out, err, before, 0)
            return True
        need(process.returncode == -signal.SIGKILL and not err,
             process.returncode, out, err)
        # The sum is printed before the state is removed, so blksum can be
        # killed between the two; the next run prints the same sum again.
        if out:
            need(json.loads(out)["checksum"] == self.sum, "wrong sum", out)
            need(self.inode(), "printed a sum without a manifest", out)
        if os.path.exists(self.manifest) and not os.path.exists(self.state) \
                and os.stat(self.manifest).st_size > HEADER:
            self.check_manifest()
            return True
        after, _ = number_of_blocks(self.manifest, self.leaf_size)
        if os.path.exists(self.state):
            need(after >= before, "the manifest has lost records")
        if read is not None and read_before is not None:
            new = (min(after * BLOCK, self.size) - before * BLOCK)
            self.lost.append(max(0, read - read_before - new) / self.rate)
        return False

    def tear(self):
        """Damage the end of the file, as a crash of the host can."""
        size = os.path.getsize(self.manifest)
        _, end = number_of_blocks(self.manifest, self.leaf_size)
        how = self.rng.randrange(4)
        if end <= HEADER or size > end:
            return
        if how == 0:
            os.truncate(self.manifest, self.rng.randrange(HEADER, size))
        elif how < 3:
            with open(self.manifest, "ab") as f:
                f.write(bytes(5000) if how == 1 else self.rng.randbytes(5000))

    # ---- Finished ----

    def check_manifest(self):
        with open(self.manifest, "rb") as f:
            need(f.read() == self.expected, "the manifest differs")
        os.remove(self.manifest)

    def check_finished(self, out, err, blocks, audited):
        need(err == "", err)
        result = json.loads(out)
        need(result["checksum"] == self.sum, "wrong sum", out)
        need(result["incremental"] is True, out)
        most = self.size - min(blocks * BLOCK, self.size) + audited * BLOCK
        need(result["read"] <= most, "read more than", most, out)
        self.check_manifest()
        need(not os.path.exists(self.state), "the state is left behind")

    @staticmethod
    def audited(blocks):
        """The number of audited blocks, one of each stratum: strata have the
        same length, and there are at least 64, and 0.1 % of the blocks."""
        if blocks == 0:
            return 0
        stratum = blocks // min(blocks, max(64, -(-blocks // 1000)))
        return -(-blocks // stratum)

    def finish(self):
        if os.path.exists(self.manifest):
            self.tear()
        blocks, _ = number_of_blocks(self.manifest, self.leaf_size)
        audit = self.rng.choice((None, "0%", "100%"))
        process = self.start(*(["--audit", audit] if audit else []))
        out, err = process.communicate()
        need(process.returncode == 0, process.returncode, out, err)
        audited = blocks if audit == "100%" else 0 if audit \
            else self.audited(blocks)
        self.check_finished(out, err, blocks, audited)

    def run(self):
        """Hash the image in several runs."""
        for _ in range(self.rng.randrange(1, 4)):
            if self.kill():
                return
        self.finish()

    def report(self):
        text = "%s: %d kills" % (self.name, self.kills)
        if self.lost:
            text += ", each lost %.1f s of work, at most %.1f s" % (
                statistics.median(self.lost), max(self.lost))
        print(text)


class Nbd(Case):
    """The image is on an NBD server that reads RATE bytes per second."""

    def __init__(self, where, rng, size, rate):
        super().__init__(where, rng, "nbd", size, "sha256",
                         ["--assume-unchanged"])
        self.rate = rate
        self.socket = os.path.join(where, "socket")
        self.server = None
        self.operand = "nbd+unix:///?socket=" + self.socket

    def start(self, *options):
        """With a new server: nbdkit 1.32 can abort if a client is killed while
        its requests are in flight."""
        self.end()
        self.server = subprocess.Popen(
            ["nbdkit", "-f", "--exit-with-parent", "-U", self.socket, "-r",
             "--filter=rate", "file", self.image, "rate=%d" % (8 * self.rate)],
            stderr=subprocess.DEVNULL)
        wait_for(lambda: listens_at(self.socket) or
                 self.server.poll() is not None)
        return super().start(*options)

    def write_expected(self, where):
        options, self.options = self.options, ["-d", "sha256"]
        super().write_expected(where)
        self.options = options

    def reader(self, process):
        return self.server.pid

    def end(self):
        if self.server:
            self.server.terminate()
            self.server.wait()
            if os.path.exists(self.socket):
                os.remove(self.socket)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seed", default=os.environ.get("BLKHASH_SEED"))
    parser.add_argument("--rounds", type=int,
                        default=os.environ.get("BLKHASH_ROUNDS") or 4)
    args = parser.parse_args()
    seed = args.seed or str(random.randrange(2**32))
    print("seed", seed, flush=True)
    rng = random.Random(seed)
    many = args.rounds > 10

    # Each run takes long enough to write some records.
    nbd = Nbd(args.dir, rng, (24 if many else 10) << 20, 4 << 20)
    file = Case(args.dir, rng, "file", (384 if many else 64) << 20,
                "sha3-512", ["-t", "1"])
    try:
        while nbd.kills + file.kills < args.rounds:
            (file if file.kills < nbd.kills else nbd).run()
    except Failure as failure:
        sys.exit("seed %s: %s" % (seed, failure))
    finally:
        nbd.end()
    nbd.report()
    file.report()
    faultreport.add("killed at a random moment: blksum --resume",
                    nbd.kills + file.kills)


main()

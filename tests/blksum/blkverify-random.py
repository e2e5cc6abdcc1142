#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random qcow2 and vhdx images: blksum reads the bytes that were written.

qcow2-random.py compares the sum of images with what qemu reads from them.  Here the
content is also known independently of any reader: qemu-io writes it to the image, and
this program to a model in memory.  Each round makes an image, or a chain of images in
qcow2, vhdx and raw, by writes, zero writes, compressed writes, discards, snapshots that
are made, applied and deleted, resizes, commits and rebases, and by programs that end
without closing the image.  Then

- qemu's blkverify reads the image and the model, and compares each byte;
- the sum of blksum, direct and through qemu-nbd (BLKSUM_DIRECT=0), and with random
  options, is that of reference.py for the model.

    blkverify-random.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.
"""

import collections
import os
import re
import subprocess
import sys

import faultreport
import reference
import rounds

KIB = 1024
MIB = 1024 * KIB
DONE = re.compile(r"(wrote|discard) \d+/\d+ bytes|(write|discard|pwrite_zeroes) failed")


class Failure(Exception):
    pass


class QemuFailed(Exception):
    """An error of qemu's, in the making of an image."""


def qemu_img(*arguments):
    result = subprocess.run(["qemu-img", *map(str, arguments)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise QemuFailed("qemu-img %s: %s" % (arguments, result.stdout))


def blksum(*arguments, direct=True):
    env = dict(os.environ)
    env.pop("BLKSUM_DIRECT", None)
    if not direct:
        env["BLKSUM_DIRECT"] = "0"
    result = subprocess.run(["blksum", *arguments], env=env,
                            stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode != 0 or result.stderr:
        raise Failure("blksum %s: exit status %d\n%s%s" % (
            " ".join(arguments), result.returncode, result.stdout,
            result.stderr))
    return result.stdout.strip()


# ---- Images ---------------------------------------------------------------


class Disk:
    """An image in format FMT, and the model of its content."""

    def __init__(self, rng, path, fmt, backing=None):
        self.rng, self.path, self.fmt, self.backing = rng, path, fmt, backing
        self.snapshots, self.names, self.used = {}, 0, []
        if os.path.exists(path):
            os.unlink(path)
        getattr(self, "create_" + fmt)()
        self.content = bytearray(self.size)
        if backing:
            below = backing.content[:self.size]
            self.content[:len(below)] = below

    def create_raw(self):
        self.cluster = 4 * KIB
        self.size = 512 * self.rng.randrange(1, 4000)
        qemu_img("create", "-q", "-f", "raw", self.path, self.size)
        self.options = ""

    def create_vhdx(self):
        rng = self.rng
        self.cluster = rng.choice((1, 1, 1, 2, 4)) * MIB
        self.size = 512 * rng.randrange(1, 6 * self.cluster // 512)
        self.options = "block_size=%d,log_size=%dM,subformat=%s%s" % (
            self.cluster, rng.choice((1, 1, 3)),
            rng.choice(("dynamic",) * 4 + ("fixed",)),
            rng.choice(("", "", ",block_state_zero=off")))
        qemu_img("create", "-q", "-f", "vhdx", "-o", self.options, self.path,
                 self.size)

    def create_qcow2(self):
        rng = self.rng
        self.version = rng.choice((2, 3, 3, 3))
        extended = self.version == 3 and rng.random() < 0.4
        self.cluster = 1 << rng.choice((14, 15, 16, 17, 19) if extended else
                                       (9, 10, 12, 13, 16, 16, 16, 18, 21))
        self.size = 512 * rng.randrange(
            1, min(max(64 * self.cluster, MIB), 4 * MIB) // 512)
        options = ["cluster_size=%d" % self.cluster,
                   "compat=" + ("0.10" if self.version == 2 else "1.1")]
        if extended:
            options.append("extended_l2=on")
        if self.version == 3:
            options.append("refcount_bits=%d" % rng.choice((16, 16, 1, 2, 8, 64)))
            if rng.random() < 0.4:
                options.append("lazy_refcounts=on")
            if rng.random() < 0.4:
                options.append("compression_type=zstd")
        if self.backing:
            options += ["backing_file=" + self.backing.path,
                        "backing_fmt=" + self.backing.fmt]
        elif rng.random() < 0.3:
            options.append("preallocation="
                           + rng.choice(("metadata", "falloc", "full")))
        self.options = ",".join(options)
        qemu_img("create", "-q", "-f", "qcow2", "-o", self.options, self.path,
                 self.size)

    # ---- What changes the content ----

    def used_kinds(self):
        return " ".join(sorted(set(self.used)))

    def range(self):
        rng = self.rng
        unit = rng.choice((1, 512, 4096, self.cluster, self.cluster // 32 or 1))
        offset = rng.randrange(self.size) // unit * unit
        length = rng.choice((1, 512, 4096, self.cluster, 3 * self.cluster,
                             rng.randrange(1, 300000)))
        return offset, min(length, self.size - offset)

    def qemu_io(self, commands, end=()):
        """Returns which of the commands succeeded."""
        # Line by line: abort would lose what is buffered.
        command = ["stdbuf", "-oL", "qemu-io", "-d", "unmap", "-f", self.fmt]
        for words in [*commands, *end]:
            command += ["-c", words]
        result = subprocess.run(command + [self.path], text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        done = [m.group(1) is not None for m in
                map(DONE.match, result.stdout.splitlines()) if m]
        if len(done) != len(commands):
            raise QemuFailed("%s: %s" % (command, result.stdout))
        return done

    def write(self, end=()):
        """Writes of all kinds; END are commands after them."""
        rng, commands, changes = self.rng, [], []
        for _ in range(rng.randrange(1, 12)):
            kind = rng.choice(("", "", "", "-z", "-zu", "-c"))
            offset, length = self.range()
            pattern = rng.randrange(256)
            if kind == "-c" and self.fmt == "qcow2":
                # A whole cluster, or the rest of the last one.
                offset = offset // self.cluster * self.cluster
                length = min(self.cluster, self.size - offset)
                words = "write -c -P %d" % pattern
            elif kind in ("-z", "-zu"):
                pattern = 0
                if self.fmt == "qcow2" and self.version == 2:
                    kind = "-z"
                words = "write " + kind
            else:
                words = "write -P %d" % pattern
            commands.append("%s %d %d" % (words, offset, length))
            changes.append((offset, length, pattern))
        for ok, (offset, length, pattern), words in zip(
                self.qemu_io(commands, end), changes, commands):
            if ok:
                self.content[offset:offset + length] = bytes([pattern]) * length
            elif "-c" not in words:     # fails if the cluster is allocated
                raise QemuFailed("%s: %s" % (self.path, words))

    def discard(self):
        """A discarded range reads as before, as zeros, or as the backing file."""
        ranges = [self.range() for _ in range(self.rng.randrange(1, 4))]
        self.qemu_io(["discard %d %d" % r for r in ranges])
        raw = self.path + ".raw"
        qemu_img("convert", "-f", self.fmt, "-O", "raw", self.path, raw)
        with open(raw, "rb") as f:
            seen = f.read()
        below = self.backing.content if self.backing else b""
        for offset, length in ranges:
            for at in range(offset, offset + length, 512):
                end = min(at + 512, offset + length)
                old = bytes(self.content[at:end])
                under = bytes(below[at:end])
                allowed = old, bytes(end - at), under + bytes(end - at - len(under))
                if seen[at:end] not in allowed:
                    # A piece whose parts are of two clusters.
                    if not all(seen[n] in (old[n - at], 0, allowed[2][n - at])
                               for n in range(at, end)):
                        raise QemuFailed("%s: discard %d" % (self.path, at))
                self.content[at:end] = seen[at:end]

    def crash(self):
        """The program ends without closing the image."""
        self.write(end=("flush", "abort"))

    def snapshot(self):
        action = self.rng.choice("cccad")
        if action == "c" or not self.snapshots:
            self.names += 1
            name = "s%d" % self.names
            qemu_img("snapshot", "-c", name, self.path)
            self.snapshots[name] = bytes(self.content)
            return
        name = self.rng.choice(sorted(self.snapshots))
        qemu_img("snapshot", "-" + action, name, self.path)
        if action == "d":
            del self.snapshots[name]
        else:
            self.content = bytearray(self.snapshots[name])

    def resize(self):
        if self.snapshots or "preallocation" in self.options:
            return              # snapshots have sizes; qemu fails to preallocate
        size = max(512, self.size + 512 * self.rng.randrange(-1000, 1000))
        qemu_img("resize", "-q", "--shrink", "-f", self.fmt, self.path, size)
        self.content[size:] = bytes(max(0, size - self.size))
        self.size = size

    def fill(self):
        kinds = ["write"] * 4 + ["discard"]
        if self.fmt == "qcow2":
            kinds += ["snapshot", "snapshot", "resize", "crash"]
        for _ in range(self.rng.randrange(1, 8)):
            kind = self.rng.choice(kinds)
            if kind == "snapshot" and "refcount_bits=1," in self.options + ",":
                continue        # a cluster cannot be used twice
            self.used.append(kind)
            getattr(self, kind)()


def make_disk(rng, directory):
    """The Disk at the top of a chain."""
    disk = None
    layers = rng.choice((1, 1, 1, 2, 3, 4))
    for n in range(layers):
        fmt = rng.choice(("qcow2", "vhdx")) if n == 0 else "qcow2"
        if n == 0 and layers > 1:
            fmt = rng.choice(("qcow2", "vhdx", "raw"))
        disk = Disk(rng, os.path.join(directory, "layer%d" % n), fmt, disk)
        disk.fill()
    below = disk.backing
    if below and below.fmt == "qcow2" and not below.snapshots and \
       disk.size >= below.size and rng.random() < 0.3:
        qemu_img("commit", "-q", "-f", "qcow2", disk.path)
        below.used += disk.used + ["commit"]
        below.content, below.size = disk.content, disk.size
        disk = below
    elif below and below.backing and rng.random() < 0.3:
        qemu_img("rebase", "-q", "-f", "qcow2", "-F", below.backing.fmt, "-b",
                 below.backing.path, disk.path)
        disk.used.append("rebase")
        disk.backing = below.backing
    return disk


# ---- Oracles --------------------------------------------------------------


def blkverify(disk, raw, what):
    """qemu reads all of the image and of the file RAW, and compares them."""
    options = ("driver=blkverify,test.driver=%s,test.file.driver=file,"
               "test.file.filename=%s,raw.driver=raw,raw.file.driver=file,"
               "raw.file.filename=%s" % (disk.fmt, disk.path, raw))
    command = ["qemu-io", "-r", "--image-opts", options]
    for at in range(0, disk.size, MIB):
        command[2:2] = ["-c", "read %d %d" % (at, min(MIB, disk.size - at))]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    reads = result.stdout.count("\nread ") + result.stdout.startswith("read ")
    if result.returncode != 0 or reads != -(-disk.size // MIB):
        return "blkverify: %s: %s" % (what, result.stdout)
    return None


def check(rng, directory, tally):
    disk = make_disk(rng, directory)
    depth, layer = 1, disk
    while layer.backing:
        depth, layer = depth + 1, layer.backing
    print("  %s, %d bytes, %s; %d layers on %s; %s" % (
        disk.fmt, disk.size, disk.options, depth, layer.fmt,
        disk.used_kinds()), flush=True)

    model = os.path.join(directory, "model")
    with open(model, "wb") as f:
        f.write(disk.content)
    error = blkverify(disk, model, "qemu reads other data than it was given")
    if error:
        # qemu 7.2 can write a compressed cluster over other data.
        print("  %s" % error)
        disk.used.append("damaged by qemu")
        qemu_img("convert", "-f", disk.fmt, "-O", "raw", disk.path, model)
        with open(model, "rb") as f:
            disk.content = f.read()

    hashing = rng.choice(([], [], ["-b", "4k"], ["-b", "512"], ["-b", "4m"]))
    block_size = {"4k": 4 * KIB, "512": 512, "4m": 4 * MIB}[hashing[1]] \
        if hashing else 64 * KIB
    wanted = reference.blkhash(bytes(disk.content), block_size=block_size)
    reading = rng.choice(([], [], ["-c"], ["-t", "1"], ["-t", "7"]))
    given = ["-f", disk.fmt] if disk.backing or rng.random() < 0.3 else []
    for direct in (True, False):
        got = blksum("--no-names", *hashing, *reading, *given, disk.path, direct=direct)
        if got != wanted:
            raise Failure("direct=%s\n  expected %s\n  got      %s"
                          % (direct, wanted, got))
    for key in [disk.fmt] + sorted(set(disk.used)):
        tally[key] += 1


def main():
    arguments = rounds.parse(8)
    tally = collections.Counter()

    def try_check(rng):
        try:
            check(rng, arguments.directory, tally)
            tally["right"] += 1
        except QemuFailed as error:
            print("  no image: %s" % error)

    rounds.run(arguments, Failure, try_check)
    right, tried = tally.pop("right", 0), len(arguments.numbers)
    print("%d images of %d: %s" % (right, tried, ", ".join(
        "%s %d" % item for item in sorted(tally.items()))))
    faultreport.add("random images, blkverify", right)
    if tally["damaged by qemu"] > 1 + tried // 50:
        sys.exit("FAIL: most likely the model is wrong")
    if right < tried // 2:
        sys.exit("FAIL: qemu failed to make most of the images")


main()

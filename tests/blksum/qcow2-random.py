#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random qcow2 images: blksum reads the same data from the file as qemu.

Each round makes an image by qemu-img and qemu-io, with random options.  Its sum
must be that of the raw image that qemu-img convert makes of it, read directly
and through qemu-nbd (BLKSUM_DIRECT=0).  Then a bit of its tables is flipped:
both must print the same sum, or fail.

    qcow2-random.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import os
import re
import struct
import subprocess
import sys

import rounds

KIB = 1024
MIB = 1024 * KIB
SUM = re.compile("[0-9a-f]{64}")
OFFSET = 0x00fffffffffffe00


class Failure(Exception):
    pass


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


def blksum(*arguments, direct=True):
    """Exit status, and the sum if there is one."""
    env = dict(os.environ)
    env.pop("BLKSUM_DIRECT", None)
    if not direct:
        env["BLKSUM_DIRECT"] = "0"
    result = subprocess.run(["blksum", "--no-names", *arguments], env=env,
                            stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode not in (0, 2):
        raise Failure("blksum %s: exit status %d\n%s" % (
            " ".join(arguments), result.returncode, result.stderr))
    return result.returncode, result.stdout.strip(), result.stderr


# ---- Images ---------------------------------------------------------------


class Image:
    def __init__(self, rng, path, backing=None):
        self.rng, self.path = rng, path
        self.version = rng.choice((2, 3, 3))
        self.extended = self.version == 3 and rng.random() < 0.3
        self.cluster = 1 << rng.choice((14, 15, 16, 17, 19, 21)
                                       if self.extended else
                                       (9, 11, 12, 12, 13, 16, 16, 16, 18, 21))
        self.size = 512 * rng.randrange(1, 40 * self.limit() // 512)
        options = ["cluster_size=%d" % self.cluster,
                   "compat=" + ("0.10" if self.version == 2 else "1.1")]
        if self.extended:
            options.append("extended_l2=on")
        if self.version == 3 and rng.random() < 0.2:
            options.append("lazy_refcounts=on")
        if self.version == 3 and rng.random() < 0.2:
            options.append("compression_type=zstd")
        if not backing and rng.random() < 0.3:
            options.append("preallocation="
                           + rng.choice(("metadata", "falloc", "full")))
        if backing:
            options += ["backing_file=" + backing[0],
                        "backing_fmt=" + backing[1]]
        self.options = ",".join(options)
        run("qemu-img", "create", "-q", "-f", "qcow2", "-o", self.options,
            path, str(self.size))

    def limit(self):
        return min(max(16 * self.cluster, MIB), 4 * MIB) // 8

    def offset(self):
        unit = self.rng.choice((512, 4096, self.cluster))
        return self.rng.randrange(self.size) // unit * unit

    def operation(self):
        rng, offset = self.rng, self.offset()
        kind = rng.choice(("write", "write", "write", "-z", "-zu", "discard",
                           "-c"))
        if kind == "-c":
            # A whole cluster, or the rest of the last one.
            offset = offset // self.cluster * self.cluster
            length = min(self.cluster, self.size - offset)
        else:
            length = min(512 * rng.randrange(1, 600), self.size - offset)
        pattern = rng.randrange(256)
        if kind == "discard":
            return "discard %d %d" % (offset, length)
        if kind.startswith("-z"):
            if self.version == 2:
                kind = "-z"
            return "write %s %d %d" % (kind, offset, length)
        option = "-c " if kind == "-c" else ""
        return "write %s-P %d %d %d" % (option, pattern, offset, length)

    def change(self):
        command = ["qemu-io", "-d", "unmap", "-f", "qcow2"]
        for _ in range(self.rng.randrange(30)):
            command += ["-c", self.operation()]
        # -c fails if the cluster cannot be compressed, or is allocated.
        subprocess.run(command + [self.path], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def snapshot_or_resize(self):
        if self.rng.random() < 0.3:
            run("qemu-img", "snapshot", "-c", "s", self.path)
            return
        if self.rng.random() < 0.3:
            self.size = max(512, self.size + 512
                            * self.rng.randrange(-2000, 2000))
            run("qemu-img", "resize", "-q", "--shrink", "-f", "qcow2",
                self.path, str(self.size))

    def fill(self):
        self.change()
        if self.rng.random() < 0.5:
            try:
                self.snapshot_or_resize()
            except subprocess.CalledProcessError:
                pass            # version 2 cannot resize with snapshots
            self.change()


def make_chain(rng, directory):
    """The Image at the top, and the paths of all layers."""
    backing, layers = None, []
    if rng.random() < 0.3:
        for n in range(rng.randrange(1, 4)):
            path = os.path.join(directory, "layer%d" % n)
            layers.append(path)
            if os.path.exists(path):
                os.unlink(path)
            if backing is None and rng.random() < 0.4:
                size = rng.randrange(1, 3 * MIB)
                with open(path, "wb") as f:
                    f.truncate(size)
                    for _ in range(rng.randrange(5)):
                        start = rng.randrange(size)
                        f.seek(start)
                        f.write(rng.randbytes(min(100000, size - start)))
                backing = path, "raw"
            else:
                Image(rng, path, backing).fill()
                backing = path, "qcow2"
    path = os.path.join(directory, "image")
    if os.path.exists(path):
        os.unlink(path)
    image = Image(rng, path, backing)
    image.fill()
    return image, layers + [path]


def is_corrupt(path):
    """qemu 7.2 marks its own image as corrupt after some sequences."""
    with open(path, "rb") as f:
        header = f.read(80)
    return header[:8] == b"QFI\xfb\0\0\0\3" and header[79] & 2 != 0


def can_convert(path, raw):
    """After others it cannot read a compressed cluster."""
    return subprocess.run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw",
                           path, raw], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def damage(rng, path):
    """Flip a bit in an entry of an L1 or L2 table."""
    with open(path, "r+b") as f:
        header = f.read(104)
        size, = struct.unpack(">Q", header[24:32])
        count, l1 = struct.unpack(">IQ", header[36:48])
        bits, = struct.unpack(">I", header[20:24])
        f.seek(l1)
        tables = [t & OFFSET for t in
                  struct.unpack(">%dQ" % count, f.read(8 * count))]
        at = l1 + 8 * rng.randrange(count)
        tables = [table for table in tables
                  if 0 < table < os.path.getsize(path)]
        if tables and rng.random() < 0.9:
            entries = min((1 << bits) // 8, (size >> bits) + 2)
            at = rng.choice(tables) + 8 * rng.randrange(entries)
        f.seek(at)
        entry = bytearray(f.read(8))
        bit = rng.choice((0, 0, 62, rng.randrange(64), rng.randrange(9, 24)))
        if len(entry) < 8:
            return "nothing"
        entry[7 - bit // 8] ^= 1 << bit % 8
        f.seek(at)
        f.write(entry)
        return "bit %d at %d" % (bit, at)


# ---- Rounds ---------------------------------------------------------------


def check(rng, directory):
    """Returns whether there was a sum to compare."""
    image, layers = make_chain(rng, directory)
    print("  %d bytes, %s" % (image.size, image.options))
    if any(is_corrupt(layer) for layer in layers):
        print("  marked as corrupt by qemu")
        return False
    raw = os.path.join(directory, "raw")
    if not can_convert(image.path, raw):
        print("  not read by qemu")
        for direct in (True, False):
            got = blksum("-f", "qcow2", image.path, direct=direct)
            if got[:2] != (2, ""):
                raise Failure("direct=%s: %s" % (direct, got))
        return False
    hashing = rng.choice(([], [], ["-b", "4k"], ["-b", "512"], ["-b", "4m"]))
    wanted = blksum("-f", "raw", *hashing, raw)
    if wanted[0] != 0 or not SUM.fullmatch(wanted[1]):
        raise Failure("no sum of the raw image: " + wanted[2])

    options = hashing + rng.choice(([], [], ["-c"], ["-t", "1"], ["-t", "7"]))
    if len(layers) > 1 or rng.random() < 0.3:
        options += ["-f", "qcow2"]
    for direct in (True, False):
        got = blksum(*options, image.path, direct=direct)
        if got != wanted:
            raise Failure("blksum %s, direct=%s\n  expected %s\n  got      %s"
                          % (options, direct, wanted, got))

    for _ in range(3):
        what = damage(rng, image.path)
        mine = blksum(*options, image.path)
        qemu = blksum(*options, image.path, direct=False)
        # Messages differ: not always the same program detects the error.
        if mine[:2] != qemu[:2]:
            raise Failure("%s, blksum %s\n  direct      %s\n  by qemu-nbd %s"
                          % (what, options, mine, qemu))
    return True


def main():
    arguments = rounds.parse(25)
    compared = []
    rounds.run(arguments, Failure, lambda rng: compared.append(
        check(rng, arguments.directory)))
    if not any(compared) and arguments.only is None:
        sys.exit("FAIL: no image was read")


main()

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random compressed qcow2 images, whole and cut: which have a sum?

The tables of a qcow2 have the length of a compressed cluster in sectors; only
its stream shows where it ends.  Each round makes an image in one of the ways
that compress, and cuts it near its end.  It has the sum of the disk if the file
contains all streams in its tables, and no sum if it is shorter.  Here the end
of a stream is found by Python's zlib, and for zstd by following the block
headers; blksum shares no code with that.

    qcow2-compressed.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import os
import shutil
import struct
import subprocess
import zlib

import reference
import rounds

KIB = 1024
MIB = 1024 * KIB
OFFSET = 0x00fffffffffffe00


class Failure(Exception):
    pass


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


# ---- Where required data ends ----------------------------------------------


def deflate_end(data):
    """The length of the stream at the start of DATA; None if it is cut."""
    stream = zlib.decompressobj(-12)
    stream.decompress(data)
    return len(data) - len(stream.unused_data) if stream.eof else None


def zstd_end(data):
    """The same for a frame of zstd, by RFC 8878."""
    magic, flags = struct.unpack("<IB", data[:5])
    if magic != 0xFD2FB528:
        raise Failure("no frame of zstd")
    single = flags >> 5 & 1
    at = 6 - single + (0, 1, 2, 4)[flags & 3]
    at += (single, 2, 4, 8)[flags >> 6]
    last = 0
    while not last:
        head = int.from_bytes(data[at:at + 3], "little")
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        at += 3 + (1 if kind == 1 else size)
    at += 4 * (flags >> 2 & 1)
    return at if at <= len(data) else None


class Ends:
    """The ends of streams, and of all other data of the disk."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        fields = struct.unpack(">4sIQIIQIIQQI", self.data[:60])
        self.version, self.bits, self.size = fields[1], fields[4], fields[5]
        entries, l1, refcounts, clusters = fields[7:]
        self.cluster = 1 << self.bits
        features, self.zstd = 0, False
        if self.version == 3:
            features, = struct.unpack(">Q", self.data[72:80])
            length, = struct.unpack(">I", self.data[100:104])
            self.zstd = length > 104 and self.data[104] == 1
        self.entry = 16 if features & 16 else 8
        self.streams = {}       # offset: end
        self.other = max(l1 + 8 * entries, refcounts + clusters * self.cluster)
        for n in range(entries):
            table = self.number(l1 + 8 * n) & OFFSET
            if table:
                self.walk(table)
        self.end = max(self.streams.values(), default=0)

    def number(self, at):
        return int.from_bytes(self.data[at:at + 8], "big")

    def walk(self, table):
        self.other = max(self.other, table + self.cluster)
        for at in range(table, table + self.cluster, self.entry):
            entry = self.number(at)
            if entry >> 62 & 1:
                self.compressed(entry)
            elif entry & OFFSET:
                self.other = max(self.other, (entry & OFFSET) + self.cluster)

    def compressed(self, entry):
        bits = 62 - (self.bits - 8)
        start = entry & ((1 << bits) - 1)
        sectors = ((entry & ((1 << 62) - 1)) >> bits) + 1
        if start in self.streams:
            return
        data = self.data[start:start // 512 * 512 + sectors * 512]
        end = zstd_end(data) if self.zstd else deflate_end(data)
        if end is None:
            raise Failure("qemu wrote a stream without its end")
        self.streams[start] = start + end


# ---- Images ----------------------------------------------------------------


def make_disk(rng, path, size, unit, aligned):
    """Parts that compress well, badly, and not at all, and holes."""
    with open(path, "wb") as f:
        f.truncate(size)
        for _ in range(rng.randrange(1, 12)):
            start = rng.randrange(size) // unit * unit
            length = min(rng.randrange(1, 6 * unit), size - start)
            if aligned:
                length += -length % unit
            kind = rng.choice(("text", "text", "nibbles", "byte", "random"))
            if kind == "random":
                data = rng.randbytes(length)
            elif kind == "byte":
                data = bytes([rng.randrange(256)]) * length
            else:
                words = [rng.randbytes(1 if kind == "nibbles" else 5)
                         for _ in range(16)]
                data = b"".join(rng.choices(words, k=length))[:length]
            f.seek(start)
            f.write(data)


class Image:
    def __init__(self, rng, directory):
        self.rng = rng
        self.raw = os.path.join(directory, "raw")
        self.path = os.path.join(directory, "image")
        self.extended = rng.random() < 0.2
        bits = rng.choice((14, 16, 16, 18, 21) if self.extended else
                          (9, 10, 12, 14, 16, 16, 16, 18, 21))
        self.cluster = 1 << bits
        limit = min(40 * self.cluster, 6 * MIB)
        self.size = 512 * rng.randrange(1, limit // 512)
        version = 3 if self.extended else rng.choice((2, 3, 3))
        self.options = "cluster_size=%d,compat=%s" % (
            self.cluster, "0.10" if version == 2 else "1.1")
        if self.extended:
            self.options += ",extended_l2=on"
        if version == 3 and rng.random() < 0.5:
            self.options += ",compression_type=zstd"
        self.way = rng.choice(("nbdcopy", "driver", "convert", "io", "io"))
        # The driver compresses whole clusters, each only once.
        aligned = self.way in ("nbdcopy", "driver")
        if aligned:
            self.size += -self.size % self.cluster
        make_disk(rng, self.raw, self.size, self.cluster, aligned)
        getattr(self, self.way)()

    def create(self):
        run("qemu-img", "create", "-q", "-f", "qcow2", "-o", self.options,
            self.path, str(self.size))

    def compressing(self):
        return ("driver=compress,file.driver=qcow2,file.file.driver=file,"
                "file.file.filename=" + self.path)

    def nbdcopy(self):
        """As virt-v2v copies."""
        if not shutil.which("nbdcopy"):
            return self.driver()
        self.create()
        run("nbdcopy", "--request-size=%d" % max(self.cluster, 65536),
            "--", self.raw, "[", "qemu-nbd", "--discard=unmap", "--image-opts",
            self.compressing(), "]")

    def driver(self):
        self.create()
        run("qemu-img", "convert", "-n", "-f", "raw", "--target-image-opts",
            self.raw, self.compressing())

    def convert(self):
        run("qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", "-o",
            self.options, self.raw, self.path)

    def io(self):
        """Clusters in any order, and some plain data before or after them."""
        rng = self.rng
        self.create()
        if self.size > self.cluster and rng.random() < 0.3:
            run("qemu-io", "-f", "qcow2", "-c", "write -P 9 0 512", self.path)
        command = ["qemu-io", "-f", "qcow2"]
        for n in rng.sample(range(-(-self.size // self.cluster)),
                            k=min(12, -(-self.size // self.cluster))):
            at = n * self.cluster
            length = min(self.cluster, self.size - at)
            if rng.random() < 0.5:
                command += ["-c", "write -c -P %d %d %d"
                            % (rng.randrange(256), at, length)]
            else:
                part = os.path.join(os.path.dirname(self.raw), "part%d" % n)
                with open(self.raw, "rb") as f, open(part, "wb") as g:
                    f.seek(at)
                    g.write(f.read(length))
                command += ["-c", "write -c -s %s %d %d" % (part, at, length)]
        # -c fails if the cluster is allocated.
        subprocess.run(command + [self.path], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if rng.random() < 0.3:
            run("qemu-img", "snapshot", "-c", "s", self.path)
        if rng.random() < 0.2:
            run("qemu-io", "-f", "qcow2", "-c", "write -P 7 %d 512"
                % ((self.size - 1) // 512 * 512), self.path)
        run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", self.path,
            self.raw)


# ---- Rounds ----------------------------------------------------------------


def blksum(image, direct, *options):
    env = dict(os.environ)
    env.pop("BLKSUM_DIRECT", None)
    if not direct:
        env["BLKSUM_DIRECT"] = "0"
    result = subprocess.run(["blksum", "--no-names", *options, image], env=env,
                            stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return result.returncode, result.stdout.strip(), result.stderr


def cuts(rng, size, ends):
    """File sizes to test; one is larger than the image."""
    end = ends.end
    wanted = {size, size - 1, size // 512 * 512, size + 1, size | 511,
              end, end - 1, end - 2, end - rng.randrange(1, 600),
              (end - 1) // 512 * 512, (end | 511) + 1}
    for stream in rng.sample(sorted(ends.streams.values()),
                             k=min(2, len(ends.streams))):
        wanted |= {stream, stream - 1}
    return sorted(n for n in wanted if n > max(ends.streams, default=0))


def check_cut(rng, ends, cut, directory, wanted, tally):
    """Test an image of CUT bytes, or the whole image with random data
    appended."""
    path = os.path.join(directory, "cut")
    with open(path, "wb") as f:
        f.write(ends.data[:cut])
        f.write(rng.choice((bytes, rng.randbytes))(
            max(0, cut - len(ends.data))))
    image, options = path, []
    if rng.random() < 0.2:
        image, options = os.path.join(directory, "overlay"), ["-f", "qcow2"]
        run("qemu-img", "create", "-q", "-u", "-f", "qcow2", "-F", "qcow2",
            "-b", path, image, str(ends.size))
    elif rng.random() < 0.1:
        options = ["-U"]
    got = blksum(image, rng.random() < 0.7, *options)
    complete = cut >= ends.end
    if complete and cut < ends.other:
        return                  # covered by other tests
    tally[complete] += 1
    if complete and (got[:2] != (0, wanted) or got[2]):
        raise Failure("complete in %d bytes of %d, but blksum %s says %s\n"
                      "  expected %s" % (cut, len(ends.data), options, got,
                                         wanted))
    if not complete and (got[:2] != (2, "") or "truncated" not in got[2]):
        raise Failure("cut to %d bytes, the last stream ends at %d, but "
                      "blksum %s says %s" % (cut, ends.end, options, got))


def check(rng, directory, tally):
    image = Image(rng, directory)
    ends = Ends(image.path)
    print("  %s, %d bytes, %s: %d streams up to %d in %d bytes"
          % (image.way, image.size, image.options, len(ends.streams), ends.end,
             len(ends.data)))
    if not ends.streams:
        return
    with open(image.raw, "rb") as f:
        wanted = reference.blkhash(f.read())
    for cut in cuts(rng, len(ends.data), ends):
        check_cut(rng, ends, cut, directory, wanted, tally)


def main():
    arguments = rounds.parse(12)
    tally = {True: 0, False: 0}
    rounds.run(arguments, Failure,
               lambda rng: check(rng, arguments.directory, tally))
    print("%d images complete, %d cut" % (tally[True], tally[False]))


main()

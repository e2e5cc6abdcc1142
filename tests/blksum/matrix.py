#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""All jobs of blksum that use a checksum, for images of all kinds.

A case is a kind of source, a size, a digest, a block size and a construction.
For each case the checksum is printed, checked by lists of both formats, and
expected; the manifest is written, and read as an image; the image is compared
with an equal one, and with one that differs in one byte.  All results must be
those of reference.py and refmanifest.py; manifests are compared byte for byte.

    matrix.py --dir DIR [--socket PATH] [--seed S] [--rounds N]
                     [--kinds NAME,...] [--sizes N,...] [--only CASE]

The seed is printed.  N cases are chosen at random; the first ones include all
pairs of kind and size.  If N is 0, or larger than the number of cases, all are
run.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.

NBD exports are those of a server on the socket PATH, which serves the files in
DIR/exports.  The caller must detach loop devices that are left behind.
"""

import argparse
import collections
import contextlib
import ctypes
import ctypes.util
import fcntl
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import threading

import reference
import refmanifest
from diskimages import GIB, KIB, MIB, flip, random_segments, write_file

LARGE = 6 * GIB

KINDS = ["raw", "qcow2", "qcow2-qemu", "vmdk", "nbd", "device", "pipe"]
SIZES = [0, 1, 511, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB + 1, LARGE]
DIGESTS = ["sha256", "sha512", "blake3", "blake2b-256", "md5"]
BLOCK_SIZES = [4 * KIB, 32 * KIB, 64 * KIB, 512 * KIB, MIB, 4 * MIB]
CONSTRUCTIONS = ["flat", "linear", "streams"]
# Kinds for which holes are unknown: 6 GiB are read.
READ_ALL = {"device", "pipe"}
# These consist of whole sectors, for qemu or the kernel.
SECTOR = 512
ROUNDED = {"qcow2", "qcow2-qemu", "vmdk", "device"}


class Failure(Exception):
    pass


def expect(what, expected, got):
    if expected != got:
        raise Failure("%s:\n  expected %.600r\n  got      %.600r"
                      % (what, expected, got))


def note(text):
    print("note: " + text, flush=True)


# ---- The reference --------------------------------------------------------


class Blake3:
    """BLAKE3 by libblake3: reference.py takes seconds for a MiB.  The library
    is verified by it."""

    library = None

    @classmethod
    def load(cls):
        """Returns whether the library is installed, and right."""
        name = ctypes.util.find_library("blake3")
        if not name:
            return False
        try:
            cls.library = ctypes.CDLL(name)
            cls.library.blake3_hasher_init
        except (OSError, AttributeError):
            return False
        for size in 0, 1, 1024, 5000:
            message = bytes(i % 251 for i in range(size))
            d = cls()
            d.update(message)
            expect("libblake3", reference.blake3(message), d.digest())
        return True

    def __init__(self):
        self.state = ctypes.create_string_buffer(8192)  # more than its size
        self.library.blake3_hasher_init(self.state)

    def update(self, data):
        self.library.blake3_hasher_update(self.state, bytes(data),
                                          ctypes.c_size_t(len(data)))

    def digest(self):
        out = ctypes.create_string_buffer(32)
        self.library.blake3_hasher_finalize(self.state, out,
                                            ctypes.c_size_t(32))
        return out.raw


# ---- Images ---------------------------------------------------------------


def random_offset(rng, size):
    """Of the byte that changes: sometimes the first or last, or at a border."""
    border = rng.choice(BLOCK_SIZES) * rng.randrange(1, 4)
    offset = rng.choice((0, size - 1, border, border - 1,
                         rng.randrange(size), rng.randrange(size)))
    return min(offset, size - 1)


class Images:
    """The files of one size: the original, and one with a changed byte."""

    def __init__(self, args, kinds, size):
        rng = random.Random("%s/%d" % (args.seed, size))
        self.size, self.socket, self.dir = size, args.socket, args.dir
        self.segments = {"right": random_segments(rng, size)}
        self.devices = {}
        if size > 0:
            self.offset = random_offset(rng, size)
            self.segments["changed"] = flip(self.segments["right"],
                                            self.offset)
        for which, segments in self.segments.items():
            write_file(self.path("raw", which), segments, size)
            self.make(kinds, which)

    def path(self, kind, which):
        if kind == "qcow2-qemu":
            kind = "qcow2"
        return os.path.join(self.dir, "exports",
                            "%d-%s.%s" % (self.size, which, kind))

    def stored_size(self, kind):
        """The size of the disk in an image of this kind."""
        if kind not in ROUNDED:
            return self.size
        return max(1, -(-self.size // SECTOR)) * SECTOR

    def make(self, kinds, which):
        padded = os.path.join(self.dir, "padded")
        write_file(padded, self.segments[which], self.stored_size("device"))
        for kind in "qcow2", "vmdk":
            if kind in kinds or kind + "-qemu" in kinds:
                subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", kind,
                                padded, self.path(kind, which)], check=True,
                               stdout=subprocess.DEVNULL)
        if "device" in kinds:
            backing = self.path("device", which)
            os.rename(padded, backing)
            self.devices[which] = attach(backing)

    def detach(self):
        for device in self.devices.values():
            if device:
                subprocess.run(["losetup", "-d", device], check=True)

    def has(self, kind):
        return kind != "device" or all(self.devices.values())

    def operand(self, kind, which):
        if kind == "pipe":
            return "-"
        if kind == "nbd":
            return "nbd+unix:///%s?socket=%s" % (
                os.path.basename(self.path("raw", which)), self.socket)
        if kind == "device":
            return self.devices[which]
        return self.path(kind, which)

    def size_option(self, kind):
        if self.stored_size(kind) == self.size:
            return []
        return ["--size", str(self.size)]


def attach(path):
    """The loop device, or None if none is free."""
    losetup = subprocess.run(["flock", "/dev/loop-control", "losetup",
                              "--find", "--show", "--read-only", path],
                             stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=False)
    if losetup.returncode != 0:
        note(losetup.stderr.strip())
        return None
    return losetup.stdout.strip()


# ---- Running blksum -------------------------------------------------------


class Feeder(threading.Thread):
    """Writes segments to a pipe, until the pipe has no reader."""

    def __init__(self, segments):
        super().__init__()
        self.segments = segments
        self.fd, self.write_end = os.pipe()
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(self.write_end, fcntl.F_SETPIPE_SZ, 256 * KIB)
        self.start()

    def run(self):
        zeros = bytes(256 * KIB)
        try:
            with open(self.write_end, "wb", buffering=0) as f:
                for segment in self.segments:
                    if isinstance(segment, int):
                        for at in range(0, segment, len(zeros)):
                            self.write(f, zeros[:segment - at])
                    else:
                        self.write(f, segment)
        except BrokenPipeError:
            pass

    @staticmethod
    def write(f, data):
        while data:
            data = data[f.write(data):]


class Blksum:
    """Runs blksum or blkhash, and counts the runs."""

    def __init__(self):
        self.runs = 0

    def run(self, command, env=None, segments=None, data=None):
        """Returns exit status, output and messages.  Standard input is empty,
        or a pipe with the SEGMENTS or the DATA."""
        self.runs += 1
        feeder = Feeder(segments) if segments is not None else None
        if feeder:
            how = {"stdin": feeder.fd}
        else:
            how = {"input": data or b""}
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False,
                              env={**os.environ, **(env or {})}, **how)
        if feeder:
            os.close(feeder.fd)
            feeder.join()
        return done.returncode, done.stdout, done.stderr


# Of sums without a tag.
HINT = "blksum: %s: none matches, and none has a tag; made with another -d, " \
    "or by sha256sum?\n"
EXPECT_HINT = "blksum: %s: made with another -d, by sha256sum, or copied to a " \
    "larger disk (--size)?\n"
# Of sums with a tag, of devices and URIs.
VOLUME_HINT = "blksum: %s: all of it was hashed; if the image is smaller, --size " \
    "hashes only the image\n"


# ---- A case ---------------------------------------------------------------


class Case(collections.namedtuple(
        "Case", "kind size digest block_size construction")):
    def __str__(self):
        return ":".join(map(str, self))

    @classmethod
    def parse(cls, text):
        kind, size, digest, block_size, construction = text.split(":")
        return cls(kind, int(size), digest, int(block_size), construction)

    def slow(self):
        return self.kind in READ_ALL and self.size == LARGE


class Reference:
    """Sums and manifests, each computed once for all kinds."""

    def __init__(self, directory):
        self.cache = {}
        self.path = os.path.join(directory, "reference.blkm")

    def manifest(self, images, case, streams):
        key = case._replace(kind=streams)
        if key not in self.cache:
            data = refmanifest.write(images.segments["right"], case.digest,
                                     case.block_size, streams,
                                     case.construction == "linear")
            self.cache[key] = data
        return self.cache[key]


class CaseTest:
    OPERATIONS = ["plain", "check", "check_tag", "expect", "manifest",
                  "operand", "same", "changed"]

    def __init__(self, args, images, blksum, ref, case):
        self.rng = random.Random("%s/%s" % (args.seed, case))
        self.case, self.images, self.blksum = case, images, blksum
        self.dir = args.dir
        # The number of streams is the same for all kinds of a case.
        self.streams = 0
        if case.construction == "streams":
            self.streams = random.Random(
                "%s/%s" % (args.seed, case[1:])).choice((1, 4, 32, 64, 1000))
        self.expected = ref.manifest(images, case, self.streams)
        leaf_size = len(reference.new(case.digest).digest())
        self.sum = self.expected[-8 - leaf_size:-8].hex()
        self.ref_path = ref.path
        with open(ref.path, "wb") as f:
            f.write(self.expected)
        self.name = images.operand(case.kind, "right")
        self.tag = refmanifest.tag(case.digest, case.block_size, self.streams,
                                   case.construction == "linear")

    # -- How blksum is run --

    def spec(self):
        """The hash parameters, in one of their spellings."""
        size = self.rng.choice((str(self.case.block_size),
                                "%dk" % (self.case.block_size // KIB)))
        spec = "%s%s/%s" % (self.rng.choice(("", "blk-")), self.case.digest,
                            size)
        if self.streams:
            spec += "/s%d" % self.streams
        elif self.case.construction == "linear":
            spec += "/linear"
        return spec

    def sum_options(self):
        """Options for the hash parameters, of blksum."""
        digest, size, *construction = self.spec().split("/")
        if not construction and self.rng.random() < 0.7:
            return ["--digest=" + digest, "-b", size]
        return ["-d", "/".join((digest, size, *construction))]

    def run(self, *args, which="right", data=None):
        """Run with the image, on standard input unless DATA is given."""
        args = [*args, *self.images.size_option(self.case.kind)]
        if self.rng.random() < 0.5:
            args += ["-t", str(self.rng.choice((1, 2, 5)))]
        return self.run_as_is(*args, which=which, data=data)

    def run_as_is(self, *args, which="right", data=None):
        env = {}
        if self.case.kind == "qcow2-qemu":
            env["BLKSUM_DIRECT"] = "0"
        segments = None
        if self.case.kind == "pipe" and data is None:
            segments = self.images.segments[which]
        command = [*(() if args[0] == "blkhash" else ("blksum",)), *args]
        self.command = " ".join(command)
        return self.blksum.run(command, env, segments, data)

    def prints(self, output, result, status=0, messages=""):
        expect(self.command, (status, output, messages),
               (result[0], result[1].decode(), result[2].decode()))

    def other_sum(self):
        """A sum that does not match: one digit is changed."""
        at = self.rng.randrange(len(self.sum))
        digit = "%x" % (int(self.sum[at], 16) ^ 1)
        return self.sum[:at] + digit + self.sum[at + 1:]

    # -- Expected results --

    def plain(self):
        line = "%s  %s\n" % (self.sum, self.name)
        options = self.sum_options()
        if self.rng.random() < 0.3:
            options.append("--tag")
            line = "%s (%s) = %s\n" % (self.tag, self.name, self.sum)
        self.prints(line, self.run(*options, self.name))

    def checks(self, form, options):
        """A list with one line, which FORM makes of HEX and NAME."""
        right = self.rng.random() < 0.8
        path = os.path.join(self.dir, "list")
        with open(path, "w", encoding="ascii") as f:
            f.write(form % {"hex": self.sum if right else self.other_sum(),
                            "name": self.name})
        if self.case.kind == "nbd":
            options = [*options, "--allow-uris"]
        result = self.run("--check", *options, path)
        messages = ""
        if not right:
            messages = "blksum: WARNING: 1 computed checksum did NOT match\n"
            if form.startswith("blk-"):
                messages = self.volume_hint() + messages
            else:
                messages += HINT % path
        self.prints("%s: %s\n" % (self.name, "OK" if right else "FAILED"),
                    result, 0 if right else 1, messages)

    def check(self):
        self.checks("%(hex)s  %(name)s\n", self.sum_options())

    def check_tag(self):
        self.checks(self.tag + " (%(name)s) = %(hex)s\n",
                    self.rng.choice(([], ["-d", "sha1", "-b", "8k"])))

    def expect(self):
        right = self.rng.random() < 0.8
        value = self.sum if right else self.other_sum()
        hint = ""
        if self.rng.random() < 0.5:
            args = ["--expect", value, *self.sum_options()]
            hint = EXPECT_HINT % self.name
        else:
            args = ["--expect", self.rng.choice(("%s:%s", "%s = %s"))
                    % (self.tag, value)]
            hint = self.volume_hint()
        result = self.run(*args, self.name)
        if right:
            self.prints("%s: OK\n%s" % (self.name, self.trailing()), result)
            return
        self.prints("%s: FAILED\n" % self.name, result, 1,
                    "blksum: {0}: expected {1} = {2}\n"
                    "blksum: {0}: got      {1} = {3}\n{4}".format(
                        self.name, self.tag, value, self.sum, hint))

    def volume_hint(self):
        if (self.case.kind not in ("device", "nbd") or
                self.images.size_option(self.case.kind)):
            return ""
        return VOLUME_HINT % self.name

    def trailing(self):
        """The lines of --expect with --size about trailing data."""
        more = self.images.stored_size(self.case.kind) - self.case.size
        if more == 0:
            return ""
        return "%s: %d bytes after the image were not read\n" % (self.name,
                                                                more)

    def manifest(self):
        path = os.path.join(self.dir, "got.blkm")
        line = "%s  %s\n" % (self.sum, self.name)
        if self.case.kind == "pipe" or self.rng.random() < 0.3:
            result = self.run("--manifest", "-", *self.sum_options(),
                              self.name)
            got, result = result[1], (result[0], line.encode(), result[2])
        else:
            result = self.run("--manifest", path, *self.sum_options(),
                              self.name)
            with open(path, "rb") as f:
                got = f.read()
            os.unlink(path)
        self.prints(line, result)
        expect(self.command + ": the manifest", self.expected, got)
        if self.streams == 0 or self.case.size != LARGE:
            expect("the sum in it", self.sum, refmanifest.read(got).md.hex())

    def operand(self):
        """The manifest as an operand, also from a pipe."""
        data = b""
        name = "manifest:" + self.ref_path
        if self.case.kind == "pipe":
            name, data = "manifest:-", self.expected
        options = self.sum_options() if self.rng.random() < 0.5 else []
        self.prints("%s  %s\n" % (self.sum, name),
                    self.run_as_is(*options, name, data=data))

    def compares(self, which, ranges):
        """Compare with the image in another kind, or with a manifest."""
        options = ["blkhash", "compare", "--output=json"]
        other = self.rng.choice(("manifest:" + self.ref_path,
                                 self.images.operand("raw", "right")))
        if not other.startswith("manifest:") or self.rng.random() < 0.5:
            options += ["-d", self.spec()]
        operands = [self.images.operand(self.case.kind, which), other]
        if self.rng.random() < 0.5:
            operands.reverse()
        if self.case.kind == "pipe":
            result = self.compare_piped(which, options, other)
        else:
            result = self.run(*options, *operands, which=which)
        expect(self.command, (1 if ranges else 0, b""),
               (result[0], result[2]))
        got = json.loads(result[1])
        expect(self.command, ranges, got["ranges"])
        expect(self.command, self.case.size, got["compared-bytes"])

    def compare_piped(self, which, options, other):
        """A pipe cannot be compared; a manifest in a pipe can."""
        result = self.run("--manifest", "-", *self.sum_options(),
                          which=which)
        expect(self.command, (0, b""), (result[0], result[2]))
        return self.run_as_is(*options, "manifest:-", other, data=result[1])

    def same(self):
        self.compares("right", [])

    def changed(self):
        if self.case.size == 0:
            return
        size = self.case.block_size
        start = self.images.offset // size * size
        self.compares("changed", [{
            "start": start, "length": min(size, self.case.size - start),
            "result": "differs"}])

    def run_all(self):
        operations = self.OPERATIONS
        if self.case.slow():
            # These take seconds: choose one.
            operations = [self.rng.choice(operations)]
        for operation in operations:
            try:
                getattr(self, operation)()
            except Failure as e:
                raise Failure("%s of %s, %s" % (operation, self.case, e))


# ---- All cases, or some ---------------------------------------------------


def available_kinds(args):
    """Kinds that can be made and read on this system."""
    kinds = set(KINDS)
    if args.no_libnbd or not shutil.which("qemu-nbd") or \
       not shutil.which("qemu-img"):
        note("no qcow2 and vmdk: libnbd, qemu-nbd or qemu-img is missing")
        kinds -= {"qcow2", "qcow2-qemu", "vmdk"}
    if not args.socket:
        note("no NBD: libnbd or nbdkit is missing")
        kinds.discard("nbd")
    if os.getuid() != 0 or not shutil.which("losetup"):
        note("no block devices: not root, or losetup is missing")
        kinds.discard("device")
    return [kind for kind in KINDS if kind in kinds and
            kind in (args.kinds or KINDS)]


def available_digests():
    names = subprocess.run(["blksum", "-l"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    digests = [d for d in DIGESTS if d in names]
    if "blake3" in digests:
        if Blake3.load():
            reference.DIGESTS["blake3"] = Blake3
        else:
            digests.remove("blake3")
    if digests != DIGESTS:
        note("only %s" % " ".join(digests))
    return digests


def choose_cases(args, kinds, digests):
    """All cases in random order; all pairs of kind and size come first."""
    rng = random.Random(args.seed)
    sizes = args.sizes or SIZES
    cases = [Case(*c) for c in itertools.product(
        kinds, sizes, digests, BLOCK_SIZES, CONSTRUCTIONS)]
    rng.shuffle(cases)
    firsts = {(c.kind, c.size): c for c in cases}
    first = list(firsts.values())
    rng.shuffle(first)
    rest = [c for c in cases if firsts[c.kind, c.size] != c]
    return (first + rest)[:args.rounds] if args.rounds else cases


def run_cases(args, kinds, cases):
    blksum, ref = Blksum(), Reference(args.dir)
    counts = collections.Counter()
    # One size at a time.
    for size in sorted({case.size for case in cases}):
        images = Images(args, kinds, size)
        for case in cases:
            if case.size == size and images.has(case.kind):
                CaseTest(args, images, blksum, ref, case).run_all()
                counts[case.kind] += 1
        images.detach()
        ref.cache.clear()
    print("%d cases, %d runs of blksum: %s" % (
        sum(counts.values()), blksum.runs,
        ", ".join("%s %d" % pair for pair in sorted(counts.items()))))


def parse_arguments():
    environ = os.environ
    rounds = environ.get("BLKHASH_ROUNDS")
    parser = argparse.ArgumentParser(description="all that blksum does")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--socket", help="of a server of DIR/exports")
    parser.add_argument("--no-libnbd", action="store_true")
    parser.add_argument("--seed", default=environ.get("BLKHASH_SEED")
                        or os.urandom(4).hex())
    parser.add_argument("--rounds", type=int, help="0 is all",
                        default=len(KINDS) * len(SIZES) if rounds is None
                        else int(rounds))
    parser.add_argument("--kinds", type=lambda s: s.split(","))
    parser.add_argument("--sizes",
                        type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--only", metavar="CASE", type=Case.parse)
    return parser.parse_args()


def main():
    args = parse_arguments()
    print("seed: %s" % args.seed, flush=True)
    os.makedirs(os.path.join(args.dir, "exports"), exist_ok=True)
    try:
        kinds, digests = available_kinds(args), available_digests()
        cases = [args.only] if args.only else \
            choose_cases(args, kinds, digests)
        run_cases(args, kinds, cases)
    except Failure as e:
        print("FAIL: seed %s, %s" % (args.seed, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

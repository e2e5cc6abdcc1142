#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random images: blksum --also prints the digests that hashlib computes of the
raw image.

Each round makes a raw image of data, zeros and holes, stores it in a random
format, or serves or sends it, and hashes it with random options.

    also-random.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.
"""

import hashlib
import os
import subprocess

import reference
import rounds

KIB = 1024
MIB = 1024 * KIB
DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
FORMATS = ("raw", "raw", "pipe", "nbd", "qcow2", "qcow2", "compressed", "vmdk",
           "vhdx", "vdi", "vpc")
SPECS = ("sha256/64k", "sha256/4k", "md5/512", "sha512/1m", "sha256/16m",
         "null/64k", "sha256/64k/s64", "sha256/4m/linear")


class Failure(Exception):
    pass


def make_raw(rng, path, unit, smallest):
    """Returns the content, whose size is a multiple of UNIT."""
    size = rng.choice((0, 1, 511, 64 * KIB, 300 * KIB, 3 * MIB, 9 * MIB,
                       40 * MIB))
    size = max((size + rng.randrange(size + 2)) // unit * unit, smallest)
    image = bytearray(size)
    with open(path, "wb") as f:
        f.truncate(size)
        for _ in range(rng.randrange(12) if size > 0 else 0):
            start = rng.randrange(size)
            data = rng.randbytes(rng.choice((1, 512, 4 * KIB, 70 * KIB, MIB)))
            data = data[:size - start]
            if rng.random() < 0.2:
                data = bytes(len(data))
            f.seek(start)
            f.write(data)
            image[start:start + len(data)] = data
    return bytes(image)


def convert(image_format, raw, path):
    options = ["-c"] if image_format == "compressed" else []
    if image_format == "vpc":
        options += ["-o", "force_size=on"]
    image_format = {"compressed": "qcow2"}.get(image_format, image_format)
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", image_format,
                    *options, raw, path], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return ["-f", image_format, path]


def run(command, **keywords):
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **keywords)
    if result.returncode != 0 or result.stderr:
        raise Failure("%s: exit status %d\n%s" % (
            " ".join(command), result.returncode, result.stderr.decode()))
    return result.stdout.decode().splitlines()


def hash_image(image_format, raw, path, options):
    command = ["blksum", "--no-names", *options]
    if image_format == "pipe":
        with subprocess.Popen(["cat", raw], stdout=subprocess.PIPE) as cat:
            return run(command, stdin=cat.stdout)
    if image_format == "nbd":
        return run(["nbdkit", "-U", "-", "file", raw, "--run",
                    " ".join(command) + ' "$uri"'], stdin=subprocess.DEVNULL)
    operand = ["-f", "raw", raw] if image_format == "raw" \
        else convert(image_format, raw, path)
    return run(command + operand, stdin=subprocess.DEVNULL)


def check(rng):
    raw, path = (os.path.join(arguments.directory, name)
                 for name in ("random.raw", "random.image"))
    for name in (raw, path):
        if os.path.exists(name):
            os.unlink(name)
    image_format = rng.choice(formats)
    unit = 1 if image_format in ("raw", "pipe", "nbd") \
        else MIB if image_format == "vhdx" else 512
    image = make_raw(rng, raw, unit,
                     unit if image_format in ("vmdk", "vhdx", "vpc") else 0)
    digests = rng.sample(DIGESTS, rng.randrange(1, 4))
    spec = rng.choice(SPECS)
    options = ["--also", ",".join(digests), "-d", spec,
               "-t", str(rng.randrange(1, 5))]
    if rng.random() < 0.3:
        options.append("--no-extents")
    if rng.random() < 0.3 and image_format == "nbd":
        options += ["--read-size", rng.choice(("64k", "32m"))]
    if rng.random() < 0.2:
        options += ["--manifest", path + ".blkm"]
    print(image_format, len(image), *options, flush=True)
    lines = hash_image(image_format, raw, path, options)
    expected = ["content-%s = %s" % (digest, hashlib.new(digest,
                                                         image).hexdigest())
                for digest in digests]
    if lines[1:] != expected:
        raise Failure("got %s\nexpected %s" % (lines[1:], expected))
    # The sum beside it does not depend on --also.
    tag, got = lines[0].split(" = ")
    if tag != "blk-" + spec:
        raise Failure("the tag is %s" % tag)
    if spec == "sha256/64k" and got != reference.blkhash(image):
        raise Failure("another sum: " + lines[0])


arguments = rounds.parse(12)
formats = os.environ.get("FORMATS", " ".join(FORMATS)).split()
rounds.run(arguments, (Failure, subprocess.CalledProcessError), check)

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random disks: blkhash export makes of their manifest what tests/refverity.py,
veritysetup, fsverity and sha256sum make of the disk.  A flip of a bit in the disk
or in the tree is then found by veritysetup.

    export-random.py DIRECTORY [--seed S] [--rounds N] [--only ROUND]

The seed is printed.  BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the
options.  Without veritysetup or fsverity the rest is compared.
"""

import hashlib
import os
import re
import shutil
import subprocess
import uuid

import refverity
import rounds

BLOCK = refverity.BLOCK
SIZES = (1, 2, 3, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000)


class Failure(Exception):
    pass


def path(name):
    return os.path.join(arguments.directory, name)


def make_disk(rng):
    """Writes a disk of data, zeros and holes, and returns its content."""
    blocks = rng.choice((*SIZES, rng.randrange(1, 1500)))
    size = blocks * BLOCK
    if rng.random() < 0.3:
        size -= rng.choice((1, 512, BLOCK - 1, rng.randrange(1, BLOCK)))
    disk = bytearray(size)
    with open(path("disk"), "wb") as f:
        f.truncate(size)
        for _ in range(rng.choice((0, 1, 2, 10))):
            start = rng.randrange(size) if size else 0
            data = rng.randbytes(rng.choice((1, BLOCK, 3 * BLOCK, size // 3,
                                             size)))[:size - start]
            if rng.random() < 0.3:
                data = bytes(len(data))
            f.seek(start)
            f.write(data)
            disk[start:start + len(data)] = data
    return bytes(disk)


def run(*command, status=0):
    result = subprocess.run(command, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, cwd=arguments.directory)
    if (result.returncode != 0) != (status != 0):
        raise Failure("%s: exit status %d\n%s" % (
            " ".join(command), result.returncode, result.stderr))
    return result.stdout


def export(*words):
    if os.path.exists(path("out")):
        os.unlink(path("out"))
    return run("blkhash", "export", "--to", *words).strip()


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


def same(what, got, expected):
    if got != expected:
        raise Failure("%s: got %r\nexpected %r" % (what, got[:200],
                                                   expected[:200]))


def flip(rng, name, start):
    """A bit of the file, from byte START on; returns a function that undoes it."""
    with open(path(name), "rb+") as f:
        at = rng.randrange(start, os.path.getsize(path(name)))
        f.seek(at)
        old = f.read(1)
        f.seek(at)
        f.write(bytes([old[0] ^ 1 << rng.randrange(8)]))
    print("flipped a bit of %s at %d" % (name, at))


def check_veritysetup(rng, digest, superblock, uuid_text, root):
    made = run("veritysetup", "format", "--salt=-", "--hash", digest,
               *(["--uuid", uuid_text] if superblock else ["--no-superblock"]),
               "disk", "other")
    same("root of veritysetup", re.search("^Root hash: *\t(.*)$", made,
                                          re.MULTILINE)[1], root)
    same("hash device of veritysetup", content("out"), content("other"))
    verify = ["veritysetup", "verify", "disk", "out", root]
    if not superblock:
        verify += ["--no-superblock", "--salt=-", "--hash", digest,
                   "--data-blocks", str(os.path.getsize(path("disk")) // BLOCK)]
    run(*verify)
    start = BLOCK if superblock else 0
    if os.path.getsize(path("out")) > start and rng.random() < 0.5:
        flip(rng, "out", start)
    else:
        flip(rng, "disk", 0)
    run(*verify, status=1)


def check_verity(rng, disk, digest):
    superblock = rng.random() < 0.6
    uuid_bytes = rng.choice((bytes(16), rng.randbytes(16)))
    uuid_text = str(uuid.UUID(bytes=uuid_bytes))
    options = ["--no-superblock"] if not superblock else \
        ["--uuid", uuid_text] if any(uuid_bytes) else []
    root = export("verity", *options, "m", "out")
    same("root", root, refverity.root(disk, digest).hex())
    same("hash device", content("out"),
         refverity.verity(disk, digest, uuid_bytes) if superblock
         else refverity.tree(disk, digest))
    # veritysetup needs a hash device of a block.
    if has_veritysetup and content("out"):
        with open(path("other"), "wb"):
            pass
        check_veritysetup(rng, digest, superblock, uuid_text, root)


def check_fsverity(disk, digest):
    got = export("fsverity", "--image", "disk", "--descriptor", "out", "m")
    same("fs-verity", got, "%s:%s" % (digest, refverity.fsverity(disk, digest)))
    same("descriptor", content("out"), refverity.descriptor(disk, digest))
    if has_fsverity:
        same("fsverity", got + " disk",
             run("fsverity", "digest", "--hash-alg", digest,
                 "--out-descriptor=other", "disk").strip())
        same("descriptor of fsverity", content("out"), content("other"))
        os.unlink(path("other"))


def check_leaves(digest, spec, line):
    got = export("leaves", "m", "out")
    same("sum", got, "blk-%s (manifest:m) = %s" % (spec, line.split()[0]))
    same("sum of leaves", hashlib.new(digest, content("out")).hexdigest(),
         got.split()[-1])


def check(rng):
    disk = make_disk(rng)
    digest = rng.choice(("sha256", "sha256", "sha512"))
    construction = rng.choice(("", "", "", "/s64", "/linear"))
    spec = "%s/4k%s" % (digest, construction)
    print(len(disk), spec, flush=True)
    if os.path.exists(path("m")):
        os.unlink(path("m"))
    line = run("blksum", "-d", spec, "--manifest", "m", "disk")
    if not construction:
        check_leaves(digest, spec, line)
    check_fsverity(disk, digest)
    if len(disk) > 0 and len(disk) % BLOCK == 0:
        check_verity(rng, disk, digest)     # last: it flips a bit


arguments = rounds.parse(12)
has_veritysetup, has_fsverity = map(shutil.which, ("veritysetup", "fsverity"))
rounds.run(arguments, (Failure, subprocess.CalledProcessError), check)

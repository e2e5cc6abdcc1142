# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Disks for bench-latency, with the same content in each run."""

import glob
import os
import random
import subprocess

import bench

MiB = 1 << 20
EXTENT = 64 << 10


def make_raw(path, mib):
    """Write a raw image of MIB MiB without holes, of pseudo-random data."""
    rng = random.Random(1)
    pool = rng.randbytes(16 * MiB)
    with open(path, "wb") as f:
        for _ in range(mib):
            start = rng.randrange(len(pool) - MiB)
            f.write(pool[start:start + MiB])


def make_sparse(path, mib, extents):
    """Write PATH.raw, sparse, with EXTENTS blocks of 64 KiB allocated, and
    PATH.qcow2 with the same content."""
    rng = random.Random(2)
    blocks = mib * MiB // EXTENT
    with open(path + ".raw", "wb") as f:
        f.truncate(blocks * EXTENT)
        for block in sorted(rng.sample(range(blocks), extents)):
            f.seek(block * EXTENT)
            f.write(rng.randbytes(EXTENT))
    bench.require("qemu-img", "qemu-utils")
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2",
                    path + ".raw", path + ".qcow2"], check=True)


def make_many(path, count):
    """Write COUNT raw images of 1 MiB into the directory PATH, and PATH.ext4,
    an ext4 that contains them."""
    os.mkdir(path)
    rng = random.Random(3)
    for i in range(count):
        with open(os.path.join(path, "%04d.raw" % i), "wb") as f:
            f.write(rng.randbytes(MiB))
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", path, path + ".ext4",
                    "%dm" % (count * 5 // 4 + 16)], check=True,
                   stdout=subprocess.DEVNULL)


def files_of(source):
    """The images of a directory, or the only one."""
    return (sorted(glob.glob(source + "/*.raw")) if os.path.isdir(source)
            else [source])


def data_size(source):
    """Allocated bytes of the images, at most their sizes."""
    sizes = [(os.path.getsize(path), 512 * os.stat(path).st_blocks)
             for path in files_of(source)]
    return sum(min(size) for size in sizes)

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Disks for bench-latency, with the same content in each run."""

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


def data_size(path):
    """Allocated bytes of the image, at most its size."""
    return min(os.path.getsize(path), 512 * os.stat(path).st_blocks)

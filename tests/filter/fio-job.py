#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the options of a random job of fio, which writes data, reads it back and
verifies it.

    fio-job.py SEED TARGET

TARGET is an NBD URI, or a file.  fio uses one connection for each process of the job.
The processes have parts of the disk of their own, in which requests do not overlap, so
the filter must know the sum at the end.  The size of the disk is PROCESSES * PART, and
is printed first.
"""

import random
import sys

WAYS = "write", "randwrite", "randrw", "readwrite"
TRIMS = "trimwrite", "randtrimwrite"       # of a device, not of a file

rng = random.Random(sys.argv[1])
target = sys.argv[2]

engine = "nbd" if "://" in target else rng.choice(("psync", "mmap", "libaio"))
# On mmap, several processes of fio 3.33 overwrite each other's data, on any file.
processes = 1 if engine == "mmap" else rng.choice((1, 1, 2, 3, 4))
part = 65536 * rng.randrange(8, 60)
unit = 4096 if engine == "mmap" else rng.choice((512, 4096))
options = [
    "--name=job", "--thread", "--numjobs=%d" % processes, "--size=%d" % part,
    "--offset_increment=%d" % part, "--randseed=%d" % rng.getrandbits(31),
    "--rw=" + rng.choice(WAYS + TRIMS * (engine == "nbd")),
    "--bsrange=%d-%d" % (unit, unit * 2 ** rng.randrange(6)),
    "--blockalign=%d" % unit, "--serialize_overlap=1",
    "--verify=" + rng.choice(("crc32c", "sha256", "xxhash", "md5",
                              "pattern")),
    "--verify_pattern=0x%08x" % rng.getrandbits(32), "--verify_fatal=1",
    "--iodepth=%d" % rng.choice((1, 4, 16, 64)),
]
if rng.random() < 0.3:
    options.append("--verify_backlog=%d" % rng.randrange(1, 100))
if rng.random() < 0.5:
    options.append("--fsync=%d" % rng.randrange(1, 50))
if rng.random() < 0.3:
    options.append("--size=%d" % (part * rng.randrange(50, 100) // 100
                                  // unit * unit))
options += ["--ioengine=" + engine,
            ("--uri=" if engine == "nbd" else "--filename=") + target]
print(processes * part, *options)

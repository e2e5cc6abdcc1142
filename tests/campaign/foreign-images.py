#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images that others made: blksum reads what qemu reads, and what another reader does.

SAMPLES is the directory of fetch-samples.  For each image the sum of blksum, which
reads it directly and through qemu-nbd (BLKSUM_DIRECT=0), must be that of reference.py
for the raw image that qemu-img convert makes, of a vpc with the current size in its
footer.  Without -f it is the same sum, a refusal, or that of the bytes of a file in which
qemu detects no format.  dissect.hypervisor, which shares no code with qemu or blksum,
must read the same bytes, or fail.

Then random bytes of random images are changed, or their ends are cut off: blksum prints
the sum of what qemu reads, or refuses.

    foreign-images.py SAMPLES DIRECTORY [--seed S] [--rounds N]

BLKHASH_SEED and BLKHASH_ROUNDS have the effect of the options.  ROUNDS is the number of
damaged images.  With "--only PATTERN" only images whose names contain it are read, with
"--part N" a random Nth of them.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import faultreport
import reference

MIB = 1 << 20
GIB = 1 << 30
FORMATS = {".qcow2": "qcow2", ".vhd": "vpc", ".vhdx": "vhdx", ".vmdk": "vmdk",
           ".raw": "raw"}
NAMES = {"afl5.img": "vpc"}
DETECTED = "qcow2", "vhdx", "vmdk"

# What only blksum refuses, and why qemu is wrong.
REFUSED = (
    # qemu ignores that the data is in the parent, and reads zeros.
    ("vpc", "is a differencing vpc image"),
    # Types of ESX.
    ("vmdk", "which cannot be read"),
)


class Failure(Exception):
    pass


class Discarded(Exception):
    pass


# ---- Readers --------------------------------------------------------------


def blksum(*arguments, direct=True):
    """The sum, or None, and the message."""
    env = dict(os.environ)
    env.pop("BLKSUM_DIRECT", None)
    if not direct:
        env["BLKSUM_DIRECT"] = "0"
    result = subprocess.run(["blksum", "--no-names", *arguments], env=env,
                            stdin=subprocess.DEVNULL, text=True, timeout=300,
                            errors="backslashreplace",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sum_, message = result.stdout.strip(), result.stderr.strip()
    # The geometry of a vpc may have another size.
    if result.returncode == 0 and sum_ and (
            not message or "force_size_calc" in message):
        return sum_, ""
    if result.returncode == 2 and not sum_ and message:
        return None, message
    raise Failure("blksum %s: exit status %d\n%s%s" % (
        " ".join(map(str, arguments)), result.returncode, sum_, message))


def reference_sum(path):
    with open(path, "rb") as f:
        return reference.blkhash(reference.file_segments(f.fileno()))


def qemu_sum(fmt, path, raw):
    """The sum of what qemu-img reads, or None, and its message."""
    if fmt == "raw":
        return reference_sum(path), ""
    if raw.exists():
        raw.unlink()
    try:
        result = subprocess.run(
            ["qemu-img", "convert", "-O", "raw", "--image-opts",
             "driver=%s,file.filename=%s" % (fmt, str(path).replace(",", ",,"))
             + (",force_size_calc=current_size" if fmt == "vpc" else ""), raw],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="backslashreplace", timeout=60)
    except subprocess.TimeoutExpired:
        raise Discarded("qemu-img needs too long")
    if result.returncode != 0:
        return None, result.stderr.strip()
    if raw.stat().st_size > 1 << 40:
        raise Discarded("larger than 1 TiB")
    return reference_sum(raw), ""


def detected_format(path, directory):
    link = directory / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    result = subprocess.run(["qemu-img", "info", "--output=json", link],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(result.stdout)["format"] if result.returncode == 0 else None


def open_dissect(fmt, path):
    """The disk as dissect.hypervisor reads it, or None."""
    try:
        from dissect.hypervisor.disk import qcow2, vhd, vhdx, vmdk
    except ImportError:
        return None
    if fmt == "qcow2":
        return qcow2.QCow2(path).open()
    readers = {"vhdx": vhdx.VHDX, "vpc": vhd.VHD, "vmdk": vmdk.VMDK}
    return readers[fmt](open(path, "rb")) if fmt in readers else None


def differs_in_dissect(fmt, path, raw):
    """Compares it with RAW.  Returns a reason why there is no result, or None."""
    try:
        disk = open_dissect(fmt, path)
    except Exception as e:      # it has no common class of errors
        return "fails: %r" % e
    if disk is None:
        return "has no reader"
    size = raw.stat().st_size
    if size > 2 * GIB:
        return "is too slow for large disks"
    if disk.size != size:
        raise Failure("dissect.hypervisor reads %d bytes, qemu %d"
                      % (disk.size, size))
    with open(raw, "rb") as f:
        for at in range(0, size, MIB):
            try:
                theirs = disk.read(min(MIB, size - at))
            except Exception as e:
                return "fails: %r" % e
            if theirs != f.read(MIB):
                raise Failure("dissect.hypervisor and qemu differ after %d" % at)
    return None


# ---- Images ---------------------------------------------------------------


def find_images(samples, only):
    for path in sorted(samples.rglob("*")):
        fmt = NAMES.get(path.name) or FORMATS.get(path.suffix)
        if fmt and path.is_file() and only in path.name and \
           samples / "python" not in path.parents:
            yield fmt, path


def count(tally, key):
    tally[key] = tally.get(key, 0) + 1


def is_excused(fmt, message):
    return any(fmt == f and text in message for f, text in REFUSED)


def check_detected(fmt, path, wanted, directory):
    """Without -f."""
    got, _ = blksum(path)
    detected = detected_format(path, directory)
    if got is None:
        if wanted and fmt in DETECTED and detected == fmt:
            raise Failure("without -f it is refused")
    elif got != wanted and (detected != "raw"
                            or got != reference_sum(path)):
        raise Failure("without -f: %s" % got)


def check(fmt, path, raw, tally):
    wanted, error = qemu_sum(fmt, path, raw)
    for direct in (True, False):
        got, message = blksum("-f", fmt, path, direct=direct)
        if got is None and wanted is not None and not is_excused(fmt, message):
            raise Failure("only blksum refuses: %s" % message)
        if got is not None and got != wanted:
            raise Failure("direct=%s\n  expected %s\n  got      %s\n  %s"
                          % (direct, wanted, got, error))
    if fmt == "raw":
        count(tally, "the same sum, raw")
        return
    check_detected(fmt, path, wanted, raw.parent)
    if wanted is None:
        print("  both refuse: %s" % message)
        count(tally, "both refuse")
    elif got is None:
        print("  only blksum refuses: %s" % message)
        count(tally, "only blksum refuses")
    else:
        count(tally, "the same sum, %s" % fmt)
        reason = differs_in_dissect(fmt, path, raw)
        print("  dissect.hypervisor %s" % (reason or "reads the same"))
        count(tally, "dissect.hypervisor " + (
            "reads the same" if reason is None else reason.split(":")[0]))


def check_damaged(rng, images, directory, tally):
    fmt, source = rng.choice(images)
    path, raw = directory / ("damaged" + source.suffix), directory / "raw"
    shutil.copyfile(source, path)
    size = path.stat().st_size
    what = []
    with open(path, "r+b") as f:
        if rng.random() < 0.2:
            size = rng.randrange(size) // rng.choice((1, 512, 4096))
            f.truncate(size)
            what.append("cut to %d" % size)
        for _ in range(rng.choice((0, 1, 1, 2, 8)) or not what):
            # Headers and tables are at the start, for some formats at the end.
            at = rng.choice((rng.randrange(512), rng.randrange(0x10000),
                             rng.randrange(4 * MIB), size - 1024
                             + rng.randrange(1024), rng.randrange(size or 1)))
            if not 0 <= at < size:
                continue
            f.seek(at)
            old = f.read(1)[0]
            new = rng.choice((0, 255, old ^ 1 << rng.randrange(8)))
            f.seek(at)
            f.write(bytes([new]))
            what.append("%d: %#x to %#x" % (at, old, new))
    print("%s %s: %s" % (fmt, source.name, ", ".join(what)), flush=True)
    wanted, error = qemu_sum(fmt, path, raw)
    sums = [blksum("-f", fmt, path, direct=direct) for direct in (True, False)]
    for got, message in sums:
        if got is not None and got != wanted:
            raise Failure("%s\n  expected %s\n  got      %s\n  %s"
                          % (what, wanted, sums, error))
    if (sums[0][0] is None) != (sums[1][0] is None):
        raise Failure("%s: %s" % (what, sums))
    count(tally, "damaged: the same sum" if sums[0][0] else
          "damaged: both refuse" if wanted is None else
          "damaged: only blksum refuses")
    if sums[0][0] is None and wanted is not None:
        print("  only blksum refuses: %s" % sums[0][1])


# ---- Rounds ---------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=int(
        os.environ.get("BLKHASH_SEED") or random.SystemRandom().getrandbits(32)))
    parser.add_argument("--rounds", type=int, default=int(
        os.environ.get("BLKHASH_ROUNDS") or 20))
    parser.add_argument("--only", default="")
    parser.add_argument("--part", type=int, default=1)
    arguments = parser.parse_args()

    sys.path.append(str(arguments.samples / "python"))
    print("seed %d" % arguments.seed)
    images = list(find_images(arguments.samples, arguments.only))
    if arguments.part > 1:
        rng = random.Random(arguments.seed)
        images = rng.sample(images, -(-len(images) // arguments.part))
    if not images:
        sys.exit("FAIL: no images in %s" % arguments.samples)
    tally, failures = {}, 0
    for fmt, path in images:
        print("%s %s" % (fmt, path.relative_to(arguments.samples)), flush=True)
        try:
            check(fmt, path, arguments.directory / "raw", tally)
        except Failure as failure:
            failures += 1
            print("FAIL: %s" % failure)
    small = [(fmt, path) for fmt, path in images
             if fmt != "raw" and path.stat().st_size < 17 * MIB]
    for number in range(arguments.rounds if small else 0):
        rng = random.Random("%d/%d" % (arguments.seed, number))
        try:
            check_damaged(rng, small, arguments.directory, tally)
        except Discarded as reason:
            print("  discarded: %s" % reason)
            count(tally, "damaged: discarded")
        except Failure as failure:
            failures += 1
            print("FAIL: round %d: %s" % (number, failure))
    for key in sorted(tally):
        print("%6d  %s" % (tally[key], key))
    damaged = {key: n for key, n in tally.items() if key.startswith("damaged")}
    right = damaged.get("damaged: the same sum", 0)
    faultreport.add("images of others, damaged", right,
                    sum(damaged.values()) - right, failures)
    if failures:
        sys.exit("FAIL: --seed %d: %d failures" % (arguments.seed, failures))


main()

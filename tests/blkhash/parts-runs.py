#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs blkhash parts many times, on one image, in the directory "parts".

    parts-runs.py crowd IMAGE SUM N   N runs start at once, with one part
                                         each, some with another digest; all
                                         follow the first plan, or fail; then one
                                         run hashes what is missing, and merges
    parts-runs.py kill IMAGE SUM N    N runs are killed at random moments, some
                                         of them two at a time, and repeated

Each run that is not killed prints SUM, or nothing if it hashes one part, and
exits with status 0.  After each, blkhash merge prints SUM, or that parts are
missing.  The seed is printed; BLKHASH_SEED chooses it.
"""

import os
import random
import shutil
import subprocess
import sys
import time

import reference

PARTS = 40
LIMIT = 300                     # timeout in seconds, far above a passing run


class Failure(Exception):
    pass


class Image:
    def __init__(self, path, wanted, digest="sha256"):
        self.path, self.digest = path, digest
        self.line = "blk-%s/64k (%s) = %s\n" % (digest, path, wanted)
        self.wanted = wanted

    def start(self, *options):
        return subprocess.Popen(
            ["blkhash", "parts", *options, self.path, "parts"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def check(self, process, prints, killed=False):
        """PROCESS ends; returns true if it was not killed before."""
        out, err = process.communicate(timeout=LIMIT)
        if killed and process.returncode == -9 and \
           (err == "" or err.startswith("==")) and \
           out in ("", self.line if prints else ""):
            # It can be killed after it has printed, and while LeakSanitizer
            # stops its threads, which then says "==PID==Unable to ...".
            return out != ""
        if (process.returncode, out, err) != (
                0, self.line if prints else "", ""):
            raise Failure("%s: status %s, %r, %r" % (
                process.args, process.returncode, out, err))
        return True

    def merge(self):
        """There is no other sum than the right one."""
        done = subprocess.run(["blkhash", "merge", "parts"], text=True,
                              capture_output=True, check=False, timeout=LIMIT)
        if done.returncode == 0:
            right = done.stdout == "blk-sha256/64k = %s\n" % self.wanted
        else:
            right = done.returncode == 2 and not done.stdout and \
                all(line.startswith("blkhash: parts: ") and
                    (line.endswith(" are missing") or "has no plan" in line or
                     " more lines" in line)
                    for line in done.stderr.splitlines())
        if not right:
            raise Failure("blkhash merge: %r" % done)


def fresh():
    shutil.rmtree("parts", ignore_errors=True)
    os.mkdir("parts")


def of_digest(image, digest):
    with open(image.path, "rb") as f:
        return Image(image.path, reference.blkhash([f.read()], digest), digest)


def crowd(image, count, rng):
    fresh()
    images = [image, of_digest(image, "sha512")]
    # All wait until this time is two seconds old, and write the plan then.
    os.utime(image.path)
    runs = [(rng.choice(images), i) for i in range(count)]
    runs = [(of, of.start("-d", of.digest, "--part", "%d/%d" % (i, count)))
            for of, i in runs]
    first = None
    for of, run in runs:
        if run.wait(LIMIT) == 0:
            first = of
            break
    for of, run in runs:
        if of is first:
            of.check(run, False)
        else:
            out, err = run.communicate(timeout=LIMIT)
            if (run.returncode, out) != (2, "") or 'plan has "sum' not in err:
                raise Failure("%s: status %s, %r, %r" % (
                    run.args, run.returncode, out, err))
    first.check(first.start(), True)
    names = sorted(os.listdir("parts"))
    expected = ["part-%06d-of-%06d.blkm" % (i, count) for i in range(count)]
    if names != expected + ["plan"]:
        raise Failure("other files: %s" % names)


def options_of(rng):
    """Options of a run, and whether it prints the sum."""
    if rng.random() < 0.3:
        return ["--part", "%d/%d" % (rng.randrange(PARTS), PARTS)], False
    return rng.choice(([], ["--audit", "100%"], ["-t", "1"])), True


def kill(image, count, rng):
    killed = ended = 0
    longest = 0.3
    fresh()
    # The plan, and the number of parts.
    image.check(image.start("--part", "0/%d" % PARTS), False)
    while killed < count:
        runs = [(image.start(*options), prints) for options, prints in
                (options_of(rng) for _ in range(rng.choice((1, 1, 2))))]
        start = time.monotonic()
        for run, prints in runs:
            time.sleep(rng.random() * longest)
            run.kill()
            if image.check(run, prints, killed=True):
                # It ended before: the next moments are earlier.
                longest = max((time.monotonic() - start) * 0.7, 0.01)
                ended += 1
            else:
                killed += 1
                longest = min(longest * 1.1, 5)
        image.merge()
        if rng.random() < 0.15:
            fresh()
            image.check(image.start("--part", "0/%d" % PARTS), False)
        elif rng.random() < 0.3:
            names = os.listdir("parts")
            names.remove("plan")
            if names:
                os.unlink(os.path.join("parts", rng.choice(names)))
    image.check(image.start(), True)
    image.merge()
    print("%d runs were killed, %d ended before" % (killed, ended))


def main():
    action = {"crowd": crowd, "kill": kill}[sys.argv[1]]
    image = Image(*sys.argv[2:4])
    seed = int(os.environ.get("BLKHASH_SEED") or random.randrange(2**32))
    print("seed %d" % seed, flush=True)
    try:
        action(image, int(sys.argv[4]), random.Random(seed))
    except Failure as e:
        print("FAIL: seed %d: %s" % (seed, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

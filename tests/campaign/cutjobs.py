# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of blksum for test-power-cuts.py: what they may leave on storage
that forgets, and how the next run must go on."""

import os
import shutil
import subprocess
import time

import reference
import refmanifest
from forgetful import LIMIT, Failed

DIGEST, BLOCK, LEAF = "md5", 64, 16     # many records for a small image
HEADER = 512
OPTIONS = ["-d", DIGEST, "-b", str(BLOCK)]
RIGHT, ERROR = "right", "error"


def need(condition, *why):
    if not condition:
        raise Failed(" ".join(map(str, why)))


def content(path):
    """None if there is no such file."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


class Images:
    """The image, a changed one, and their manifests."""

    def __init__(self, where, rng, blksum):
        self.where, self.blksum = where, blksum
        size = 32768 * BLOCK + 17
        data = bytearray(rng.randbytes(size))
        data[100 * BLOCK:900 * BLOCK] = bytes(800 * BLOCK)
        self.sum, self.manifest = self.make("image", data)
        data[5000:5100] = rng.randbytes(100)
        data[-9:] = bytes(9)
        self.changed_sum, self.changed_manifest = self.make("changed", data)
        self.changes = self.path("changes")
        with open(self.changes, "w") as f:
            f.write('[{"start": 4096, "length": 4096}, '
                    '{"start": %d, "length": %d}]' % (size - 100, 100))
        self.made = time.time()
        self.parts = {}
        for i in range(2):
            first, blocks = refmanifest.part_blocks(size, BLOCK, i, 2)
            self.parts["part-%06d-of-000002.blkm" % i] = refmanifest.part(
                [bytes(self.content("image"))], first, blocks, DIGEST, BLOCK)

    def make(self, name, data):
        data = bytes(data)
        with open(self.path(name), "wb") as f:
            f.write(data)
        return (reference.blkhash([data], DIGEST, BLOCK),
                refmanifest.write([data], DIGEST, BLOCK))

    def path(self, name):
        return os.path.join(self.where, name)

    def content(self, name):
        return content(self.path(name))


class Outcome:
    def __init__(self, done):
        self.status = done.returncode
        self.out, self.err = done.stdout, done.stderr

    def __str__(self):
        return "status %d, stdout %r, stderr %r" % (self.status, self.out,
                                                    self.err[:500])


class Job:
    """A command of blksum that publishes the file TARGET, with the content
    RIGHT.  BEFORE are the files in its directory, by name.  ARGUMENTS can have
    %s, for the directory.  SUM: the output begins with it, or it is None."""

    no_reads_of = None          # a file whose bytes cannot be checked
    file_system = []            # options: whether it can exchange names
    delay = 0
    is_slow = False
    flushes = False             # there is no sum of what a failed sync lost
    usual = RIGHT               # without a fault

    def __init__(self, images, name, arguments, target, right, sum=None,
                 before=None):
        self.images, self.name, self.arguments = images, name, arguments
        self.target, self.right, self.sum = target, right, sum
        self.before = before or {}

    def prepare(self, store):
        shutil.rmtree(store, ignore_errors=True)
        os.mkdir(store)
        for name, data in self.before.items():
            with open(os.path.join(store, name), "wb") as f:
                f.write(data)

    def run(self, directory, mount=None):
        command = [self.images.blksum] + [a.replace("%s", directory)
                                          for a in self.arguments]
        try:
            return Outcome(subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=LIMIT))
        except subprocess.TimeoutExpired:
            raise Failed("HANG") from None

    # ---- Judging ----

    def judge_output(self, outcome):
        """Whatever happened, there is the right sum or an error."""
        if outcome.status == 0:
            need(outcome.out.startswith(self.sum) if self.sum
                 else outcome.out == "", outcome)
            return RIGHT
        need(outcome.status in (1, 2) and outcome.out == "" and
             outcome.err.startswith("blksum: "), outcome)
        return ERROR

    def judge(self, store, outcome, was_cut, events, kept):
        """Of the run: what is in STORE."""
        how = self.judge_output(outcome)
        found, old = content(os.path.join(store, self.target)), \
            self.before.get(self.target)
        need(found in (old, self.right), "a part of the manifest, or another:",
             found and len(found))
        if how == RIGHT and not was_cut:
            need(found == self.right, "success, and no manifest after it")
        # Only the sync of the directory comes after the rename.
        if how == ERROR and not was_cut and \
           "cannot sync the directory" not in outcome.err:
            need(found == old, "an error, and a new manifest")
        return how

    def judge_next(self, store, earlier):
        """The next run is right, whatever this one has left."""
        outcome = self.run(store)
        need(self.judge_output(outcome) == RIGHT, "next run:", outcome)
        need(content(os.path.join(store, self.target)) == self.right,
             "next run: another manifest")
        return RIGHT


# ---- Resuming ----

def with_wrong_leaves(journal):
    """The same records, with other leaves."""
    at, wrong = HEADER, bytearray(journal)
    while at < len(journal):
        head = journal[at:at + 16]
        count = int.from_bytes(head[8:], "little")
        size = 0 if count >> 63 else count * LEAF
        wrong[at:at + size + 24] = refmanifest.record(
            int.from_bytes(head[:8], "little"), count,
            bytes(b ^ 1 for b in journal[at + 16:at + 16 + size]))
        at += size + 24
    return bytes(wrong)


def journal_end(data):
    """The number of blocks in the complete records of a journal, and where the
    last one ends."""
    blocks, at = 0, HEADER
    while data is not None and len(data) - at >= 24:
        first = int.from_bytes(data[at:at + 8], "little")
        count = int.from_bytes(data[at + 8:at + 16], "little")
        size = 24 + (0 if count >> 63 else count * LEAF)
        if first != blocks or at + size > len(data) or \
           refmanifest.crc32c(data[at:at + size - 8]) != \
           int.from_bytes(data[at + size - 8:at + size - 4], "little"):
            break
        blocks += count & (2**63 - 1)
        at += size
    return blocks, at


class Resume(Job):
    """The target is a journal until it is finished."""

    differs = False             # the audit can find a difference

    def __init__(self, images, name, before=None):
        super().__init__(
            images, name, [*OPTIONS, "--no-names", "--resume", "--audit", "0%",
                           "--manifest", "%s/m", images.path("image")], "m",
            images.manifest, images.sum, before)

    def judge(self, store, outcome, was_cut, events, kept):
        how = self.judge_output(outcome)
        found = content(os.path.join(store, "m"))
        self.printed = how == RIGHT
        if found == self.right:
            return how
        need(was_cut or how == ERROR, "success, and no manifest after it")
        read = subprocess.run([self.images.blksum, "manifest:" + store + "/m"],
                              capture_output=True)
        need(read.returncode == 2 and not read.stdout,
             "an unfinished manifest has a sum")
        if kept:
            self.judge_work(store, found, events)
        return how

    def judge_work(self, store, found, events):
        """What was synced, or was there before, is still there."""
        synced = [event.size for event in events
                  if event.what == "synced" and event.name == "m"]
        least = synced[-1] if synced else 0
        least = max(least, len(self.before.get("m", b"")))
        blocks, end = journal_end(found)
        need(end >= least, "synced", least, "bytes, there are", end)
        if blocks:
            need(content(store + "/m.state"), "a journal without a state")

    def judge_next(self, store, earlier):
        finished = content(store + "/m") == self.right
        outcome = self.run(store)
        if self.differs and outcome.status == 1:
            need(self.judge_output(outcome) == ERROR, outcome)
            need(content(store + "/m") is None, "the journal is still there")
            outcome = self.run(store)
        if finished and outcome.status == 2 and "is complete" in outcome.err:
            need(any(run.out for run in earlier),
                 "it was complete, and not printed")
            need(content(store + "/m") == self.right, "it was complete")
            return ERROR
        need(self.judge_output(outcome) == RIGHT, "next run:", outcome)
        need(content(store + "/m") == self.right, "next run: another manifest")
        need(content(store + "/m.state") is None, "next run: left a state")
        return RIGHT


class Discarded(Resume):
    """The image is not that of the journal, which its audit shows."""

    usual, differs = ERROR, True

    def __init__(self, images, before):
        super().__init__(images, "resume, discarded", {
            **before, "m": with_wrong_leaves(before["m"])})
        self.arguments.remove("--audit")
        self.arguments.remove("0%")

    def judge(self, store, outcome, was_cut, events, kept):
        how = self.judge_output(outcome)
        found = content(os.path.join(store, "m"))
        need(how == ERROR or found != self.before["m"],
             "a sum of wrong leaves")
        if outcome.status == 1 and not was_cut and \
           not any(event.what == "fail" for event in events):
            need(found is None, "a crash brings the journal back")
        return how


class Restarted(Resume):
    """The journal is that of another image, with other leaves."""

    def __init__(self, images, before):
        state = before["m.state"].replace(b"\nfile: ", b"\nfile: 1", 1)
        super().__init__(images, "resume, restarted", {
            "m": with_wrong_leaves(before["m"]), "m.state": state})

    def judge_work(self, store, found, events):
        pass                    # none of it may be used

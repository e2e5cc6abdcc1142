# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The jobs of our programs for test-power-cuts.py: what they may leave on storage
that forgets, and how the next run must go on."""

import hashlib
import os
import re
import shutil
import subprocess

import reference
import refmanifest
import refverity
from forgetful import LIMIT, Failed

DIGEST, BLOCK = "md5", 64       # many records for a small image
SPEC = "%s/%d" % (DIGEST, BLOCK)
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

    def __init__(self, where, rng):
        self.where = where
        size = 32768 * BLOCK + 17
        data = bytearray(rng.randbytes(size))
        data[100 * BLOCK:900 * BLOCK] = bytes(800 * BLOCK)
        self.sum, self.manifest = self.make("image", data)
        data[5000:5100] = rng.randbytes(100)
        data[-9:] = bytes(9)
        self.changed_sum, self.changed_manifest = self.make("changed", data)
        self.changes = self.path("changes")
        with open(self.changes, "w") as f:
            f.write(refmanifest.changes(size, [(4096, 4096),
                                               (size - 100, 100)]))
        self.plan = ("blkhash-plan 1\nsum: %s\nsize: %d\nparts: 2\n"
                     "format: raw\nstate: x\nfile: %d\n" % (
                         refmanifest.tag(DIGEST, BLOCK, 0, False), size,
                         size)).encode()
        self.parts = {}
        for i in range(2):
            first, blocks = refmanifest.part_blocks(size, BLOCK, i, 2)
            self.parts["part-%06d-of-000002.blkm" % i] = refmanifest.part(
                [bytes(self.content("image"))], first, blocks, DIGEST, BLOCK,
                plan=self.plan)

        self.make_exports(rng.randbytes(300 * refverity.BLOCK))

    def make_exports(self, blocks):
        """The manifest of another image, and what blkhash export makes of it:
        the content of the file, and what is printed."""
        with open(self.path("blocks.blkm"), "wb") as f:
            f.write(refmanifest.write([blocks], "sha256", refverity.BLOCK))
        leaves = b"".join(hashlib.sha256(blocks[at:at + refverity.BLOCK]).digest()
                          for at in range(0, len(blocks), refverity.BLOCK))
        leaves += len(blocks).to_bytes(8, "little")
        self.exports = {
            "verity": (refverity.verity(blocks), refverity.root(blocks).hex()),
            "fsverity": (refverity.descriptor(blocks),
                         "sha256:" + refverity.fsverity(blocks)),
            "leaves": (leaves, hashlib.sha256(leaves).hexdigest())}

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
    """A command that publishes the file TARGET, with the content RIGHT.  BEFORE
    are the files in its directory, by name.  ARGUMENTS, after the program, can
    have %s, for the directory.  SUM: it is in the output, or it is None."""

    no_reads_of = None          # a file whose bytes cannot be checked
    file_system = []            # options: whether it can exchange names
    flushes = False             # there is no sum of what a failed sync lost

    def __init__(self, name, command, target, right, sum=None, before=None):
        self.name, self.command = name, command
        self.target, self.right, self.sum = target, right, sum
        self.before = before or {}

    def prepare(self, store):
        shutil.rmtree(store, ignore_errors=True)
        os.mkdir(store)
        for name, data in self.before.items():
            with open(os.path.join(store, name), "wb") as f:
                f.write(data)

    def run(self, directory, mount=None):
        command = [word.replace("%s", directory) for word in self.command]
        try:
            return Outcome(subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, errors="backslashreplace", timeout=LIMIT))
        except subprocess.TimeoutExpired:
            raise Failed("HANG") from None

    # ---- Judging ----

    def judge_output(self, outcome):
        """Whatever happened, there is the right sum or an error."""
        if outcome.status == 0:
            need(self.sum in outcome.out.split() if self.sum
                 else outcome.out == "", outcome)
            return RIGHT
        need(outcome.status in (1, 2) and outcome.out == "" and
             outcome.err.startswith(os.path.basename(self.command[0]) + ": "),
             outcome)
        return ERROR

    def judge(self, store, outcome, was_cut, events):
        """Of the run: what is in STORE."""
        how = self.judge_output(outcome)
        found, old = content(os.path.join(store, self.target)), \
            self.before.get(self.target)
        need(found in (old, self.right), "a part of the manifest, or another:",
             found and len(found))
        if how == RIGHT and not was_cut:
            need(found == self.right, "success, and no manifest after it")
        # Storage that fails for ever can keep the old one from being put back.
        displaced = re.search("is at .*/(.*) now$", outcome.err, re.MULTILINE)
        if displaced:
            need(found == self.right and
                 content(os.path.join(store, displaced[1])) == old,
                 "the old manifest is lost")
        # Only the sync of the directory comes after the rename.
        elif how == ERROR and not was_cut and \
                "cannot sync the directory" not in outcome.err:
            need(found == old, "an error, and a new manifest")
        return how

    def judge_next(self, store):
        """The next run is right, whatever this one has left."""
        outcome = self.run(store)
        need(self.judge_output(outcome) == RIGHT, "next run:", outcome)
        need(content(os.path.join(store, self.target)) == self.right,
             "next run: another manifest")
        return RIGHT


class NewFile(Job):
    """The file replaces none: a run after one that has published it is an error."""

    @staticmethod
    def exists(outcome):
        return outcome.status == 2 and "exists, and is not replaced" in outcome.err

    def judge(self, store, outcome, was_cut, events):
        if not self.exists(outcome):
            return super().judge(store, outcome, was_cut, events)
        need(content(os.path.join(store, self.target)) == self.right,
             "another file exists")
        return RIGHT

    def judge_next(self, store):
        if content(os.path.join(store, self.target)) is None:
            return super().judge_next(store)
        outcome = self.run(store)
        need(self.exists(outcome), "next run:", outcome)
        return self.judge(store, outcome, False, [])

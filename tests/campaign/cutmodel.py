# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Does forgetful-fs.c forget?  If it kept too much, test-power-cuts.py would pass
whatever our programs forget to sync."""

import contextlib
import ctypes
import os
import shutil

import forgetful
from forgetful import Mount

AT_FDCWD, RENAME_EXCHANGE = -100, 2
SECTOR = 512
OLD, NEW = b"o" * 4 * SECTOR, b"n" * 4 * SECTOR
SEEDS = range(24)


class Directory:
    """What programs do with files in a directory."""

    def __init__(self, path):
        self.path = path

    def open(self, name, flags=os.O_RDWR | os.O_CREAT):
        return os.open(os.path.join(self.path, name), flags, 0o600)

    def write(self, name, data=NEW, offset=0, sync=False, flags=0):
        fd = self.open(name, os.O_RDWR | os.O_CREAT | flags)
        try:
            os.pwrite(fd, data, offset)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, name):
        fd = self.open(name, os.O_RDONLY)
        try:
            return os.read(fd, 65536)
        finally:
            os.close(fd)

    def truncate(self, name, size, sync=False):
        fd = self.open(name)
        try:
            os.ftruncate(fd, size)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def sync(self, name="."):
        fd = self.open(name, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old, new):
        os.rename(os.path.join(self.path, old), os.path.join(self.path, new))

    def exchange(self, a, b):
        paths = [os.path.join(self.path, name).encode() for name in (a, b)]
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1],
                          RENAME_EXCHANGE) == -1:
            raise OSError(ctypes.get_errno(), "renameat2")

    def unlink(self, name):
        os.unlink(os.path.join(self.path, name))


class Check:
    def __init__(self, program, where):
        self.program, self.where = program, os.path.join(where, "model")
        os.mkdir(self.where)

    def left(self, action, options):
        """The files after ACTION, with a and b before it."""
        store = os.path.join(self.where, "store")
        shutil.rmtree(store, ignore_errors=True)
        os.mkdir(store)
        before = Directory(store)
        before.write("a", OLD)
        before.write("b", OLD)
        mount = Mount(self.program, self.where, options)
        try:
            with contextlib.suppress(OSError):  # the power was cut, or it fails
                action(Directory(mount.path))
        finally:
            mount.end()
        return {name: before.read(name) for name in os.listdir(store)}

    def equal(self, what, action, keep, at=None, options=(), **expected):
        """After a cut the files are EXPECTED; None: it does not exist."""
        found = self.left(action, [*forgetful.cut(keep, at, 1).options,
                                   *options])
        expected = {"a": OLD, "b": OLD, **expected}
        expected = {name: data for name, data in expected.items()
                    if data is not None}
        if found != expected:
            raise SystemExit("forgetful-fs, %s, keep %s: %s" % (
                what, keep, {name: (len(data), data[:16])
                             for name, data in found.items()}))

    def possible(self, what, action, keep, view, expected):
        """With many seeds, VIEW of the files has each value of EXPECTED, and no
        other."""
        found = {view(self.left(action, forgetful.cut(keep, None, seed).options))
                 for seed in SEEDS}
        if found != set(expected):
            raise SystemExit("forgetful-fs, %s, keep %s: %s" % (what, keep,
                                                               found))


def check_data(check):
    def unsynced(d):
        d.write("a")
        d.sync("b")

    def synced(d):
        d.write("a", NEW[:3], 5)
        d.write("a", NEW[:3], 6, sync=True)

    def appended(d):
        d.write("a", NEW, len(OLD))

    check.equal("no sync", unsynced, "none")
    check.equal("no sync", unsynced, "all", a=NEW)
    check.equal("sync", synced, "none", a=OLD[:5] + NEW[:4] + OLD[9:])
    check.equal("O_SYNC", lambda d: d.write("a", flags=os.O_SYNC), "none", a=NEW)
    check.equal("append", appended, "none")
    check.equal("append", appended, "zeros", a=OLD + bytes(len(NEW)))
    check.equal("truncate", lambda d: d.truncate("a", 7), "none")
    check.equal("a write after it", lambda d: (d.truncate("a", 0),
                                               d.write("a", b"n")), "last",
                a=b"n" + OLD[1:])
    check.equal("truncate", lambda d: d.truncate("a", 7, sync=True), "none",
                a=OLD[:7])


def check_names(check):
    def create(d):
        d.write("c", sync=True)

    def replace(d):
        create(d)
        d.rename("c", "a")

    def exchange(d):
        create(d)
        d.sync()
        d.exchange("c", "a")

    def durable(action, names=True):
        def both(d):
            action(d)
            d.sync()
        return both

    check.equal("create", create, "none")
    check.equal("create", durable(create), "none", c=NEW)
    check.equal("create", durable(lambda d: d.write("c")), "none", c=b"")
    check.equal("create", lambda d: d.write("c"), "zeros", c=bytes(len(NEW)))
    check.equal("rename", replace, "none")
    check.equal("rename", replace, "all", a=NEW)
    check.equal("rename", durable(replace), "none", a=NEW)
    check.equal("exchange", exchange, "none", c=NEW)
    check.equal("exchange", exchange, "all", a=NEW, c=OLD)
    check.equal("exchange", durable(exchange), "none", a=NEW, c=OLD)
    check.equal("unlink", lambda d: d.unlink("a"), "none")
    check.equal("unlink", durable(lambda d: d.unlink("a")), "none", a=None)


def check_moment(check):
    def three(d):
        for i in range(3):
            d.write("a", b"n", i)

    def sync(d):
        d.write("a", sync=True)

    check.equal("cut in a write", three, "all", 2, a=b"nn" + OLD[2:])
    check.equal("cut in a sync", sync, "none", 2)
    check.equal("cut in a sync of names",
                lambda d: (d.write("c", sync=True), d.sync()), "none", 4)


def check_random(check):
    def three(d):
        for i in range(3):
            d.write("a", b"n", i)

    def names(d):
        d.rename("a", "c")
        d.write("e", b"x", sync=True)
        d.rename("e", "a")
        d.rename("a", "d")

    def torn(d):
        d.write("a", NEW[:3 * SECTOR], SECTOR // 2)

    def sectors(files):
        """Is each sector old or new as a whole, and is the first one new?"""
        edges = 0, SECTOR // 2, SECTOR, 2 * SECTOR, 3 * SECTOR, \
            7 * SECTOR // 2, 4 * SECTOR
        return all(len(set(files["a"][i:j])) == 1
                   for i, j in zip(edges, edges[1:])), \
            "first" if files["a"].startswith(b"o" * (SECTOR // 2) + b"n") \
            else "later"

    check.possible("writes", three, "ordered", lambda files: files["a"][:3],
                   (b"ooo", b"noo", b"nno", b"nnn"))
    check.possible("two files", lambda d: (d.write("a", b"n"),
                                           d.write("b", b"n")),
                   "subset", lambda files: files["a"][:1] + files["b"][:1],
                   (b"oo", b"on", b"no", b"nn"))
    check.possible("rename", names, "subset",
                   lambda files: (files.get("a"), files.get("d")) ==
                   (OLD, b"x"), (False, True))
    check.possible("sectors", torn, "torn", sectors,
                   [(True, "first"), (True, "later")])


def check_failures(check):
    def sync_again(d):
        fd = d.open("a")
        os.pwrite(fd, NEW, 0)
        with contextlib.suppress(OSError):
            os.fsync(fd)
        os.fsync(fd)
        os.close(fd)

    def write_all(d):
        for name in "a", "b", "c":
            with contextlib.suppress(OSError):
                d.write(name, b"n")

    def copy(d):
        for name in "c", "d":
            with contextlib.suppress(OSError):
                d.write(name, d.read("a"))

    check.equal("a sync fails", sync_again, "none", options=["-f", "2"])
    check.equal("a write fails", write_all, "all", options=["-f", "1"],
                b=b"n" + OLD[1:], c=b"n")
    check.equal("writes fail", write_all, "all", options=["-f", "1", "-a"])
    check.equal("an open fails", copy, "all", options=["-f", "1", "-r"], d=OLD)
    # All later ones, because the kernel repeats a read that failed.
    check.equal("reads fail", copy, "all", options=["-f", "2", "-r", "-a"])
    check.equal("an exempt file", copy, "all", options=["-w", "2", "-x", "a"],
                c=OLD, d=OLD)


def check_wrong_bytes(check):
    """Also of sectors that are zeros or equal to the first one already."""
    for data in OLD, bytes(len(OLD)), b"x", bytes(1):
        def copy(d):
            d.write("c", data)
            d.write("d", d.read("c"))

        for seed in range(3):
            found = check.left(copy, ["-w", "2", "-s", str(seed)])
            if found["d"] == data or len(found["d"]) != len(data) or \
               found["c"] != data:
                raise SystemExit("forgetful-fs, seed %d: no wrong bytes in %r"
                                 % (seed, data[:16]))


def check(program, where):
    """Exits with a message if PROGRAM, forgetful-fs, is wrong."""
    checks = Check(program, where)
    check_data(checks)
    check_names(checks)
    check_moment(checks)
    check_random(checks)
    check_failures(checks)
    check_wrong_bytes(checks)

#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python module: what it promises, misuse, threads, signals.  Run it with
"-W error -X dev".  Random calls are in test-random.py, processes and the end
of the interpreter in test-processes.py.

No result depends on time: a signal is sent when a call has begun that would
take weeks."""

import array
import contextlib
import copy
import errno
import hashlib
import io
import itertools
import mmap
import os
import pathlib
import pickle
import pydoc
import random
import signal
import stat
import sys
import tempfile
import threading
import time
import unittest

import blkhash
import reference
import refmanifest
from blkhash import _lib, _manifest

IMAGE = bytes(range(256)) * 1000 + bytes(300000) + b"end"
SPEC = "sha256/4k"
EXPECTED = reference.blkhash(IMAGE, "sha256", 4096)


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name
        self.path = os.path.join(self.dir, "disk.blkm")

    def write(self, data, name="disk.blkm"):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def manifest(self, image=IMAGE, name="disk.blkm", block_size=4096, **how):
        return self.write(refmanifest.write(image, "sha256", block_size, **how),
                          name)


@contextlib.contextmanager
def replaced(thing, name, function):
    """While it lasts, THING.NAME is FUNCTION."""
    before = getattr(thing, name)
    setattr(thing, name, function)
    try:
        yield before
    finally:
        setattr(thing, name, before)


@contextlib.contextmanager
def interrupted(name):
    """The first call of the C function NAME makes another thread send SIGINT
    to this process: the call has begun, or is about to begin."""
    called = threading.Event()
    function = getattr(_lib.lib, name)

    def call(*arguments):
        called.set()
        return function(*arguments)

    def interrupt():
        called.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with replaced(_lib.lib, name, call):
            yield
    finally:
        called.set()
        thread.join()


class HashTest(unittest.TestCase):
    def test_as_hashlib(self):
        h, other = blkhash.new(SPEC, IMAGE[:1000]), hashlib.new("sha256")
        h.update(IMAGE[1000:])
        self.assertEqual(h.hexdigest(), EXPECTED)
        self.assertEqual(h.digest(), bytes.fromhex(EXPECTED))
        self.assertIs(h.digest(), h.digest())
        self.assertEqual(h.digest_size, other.digest_size)
        self.assertEqual((h.name, h.tag(), h.block_size),
                         ("sha256/4k", "blk-sha256/4k", 4096))
        for name in "update", "digest", "hexdigest", "copy":
            self.assertTrue(getattr(type(h), name).__doc__)

    def test_spec(self):
        for spec, name in (("sha256", "sha256/64k"), ("SHA2-256", "sha256/64k"),
                           ("blk-sha256/64k", "sha256/64k"),
                           ("BLK-SHA256/64K", "sha256/64k"),
                           ("sha1/4096", "sha1/4k"),
                           ("sha256/1m/s64", "sha256/1m/s64"),
                           ("sha256/4m/linear", "sha256/4m/linear")):
            self.assertEqual(blkhash.new(spec).name, name)
            self.assertEqual(blkhash.new(blkhash.new(spec).name).name, name)
            self.assertEqual(blkhash.new(blkhash.new(spec).tag()).name, name)
        for spec in ("", "nothing", "sha256/3", "sha256/64k/s9999", "sha256\0",
                     "sha256/", "sha256/64k/linear/s2", "blk-", "\udc80", "é"):
            with self.assertRaises(ValueError, msg=repr(spec)):
                blkhash.new(spec)
        for spec in None, 1, b"sha256":
            with self.assertRaises(TypeError):
                blkhash.new(spec)
        for create in blkhash.new, lambda spec: blkhash.Leaves(spec, 1):
            with self.assertRaisesRegex(ValueError, "'sha256/3k'.* power of "
                                        "two from 4 to 16m"):
                create("sha256/3k")

    def test_threads(self):
        for threads in 1, 2, 128:
            h = blkhash.new(SPEC, IMAGE, threads=threads)
            self.assertEqual(h.hexdigest(), EXPECTED)
        for threads in 0, -1, 129, 257, 2**64 + 1:
            with self.assertRaises(ValueError):
                blkhash.new(threads=threads)
        for threads in True, 1.0, "1":
            with self.assertRaises(TypeError):
                blkhash.new(threads=threads)

    def test_digests_available(self):
        self.assertLess({"sha256", "sha512"}, blkhash.digests_available)
        for name in blkhash.digests_available:
            h = blkhash.new(name, b"x")
            self.assertEqual(h.name, name + "/64k")
            self.assertNotEqual(h.digest(), b"")
        self.assertEqual(blkhash.new("null", b"x").digest(), b"")

    def test_end(self):
        h = blkhash.new(SPEC, IMAGE)
        with self.assertRaises(ValueError):
            h.copy()
        self.assertEqual(h.hexdigest(), EXPECTED)
        for call in (lambda: h.update(b""), lambda: h.update(b"x"),
                     lambda: h.zero(0), lambda: h.zero(1)):
            with self.assertRaisesRegex(ValueError, "digest"):
                call()
        self.assertEqual(h.hexdigest(), EXPECTED)
        self.assertEqual(blkhash.new(SPEC).hexdigest(),
                         reference.blkhash(b"", "sha256", 4096))
        for copied in copy.copy, copy.deepcopy, pickle.dumps:
            for thing in h, blkhash.Leaves(SPEC, 1):
                with self.assertRaises(TypeError):
                    copied(thing)

    def test_errors(self):
        """After an error of C there is no digest."""
        for err, exception in ((errno.EIO, OSError),
                               (errno.ENOMEM, MemoryError)):
            for name, call in (("blkhash_update", lambda h: h.update(b"x")),
                               ("blkhash_zero", lambda h: h.zero(1)),
                               ("blkhash_final", lambda h: h.digest())):
                h = blkhash.new(SPEC, b"x")
                with replaced(_lib.lib, name, lambda *_: err), \
                        self.assertRaises(exception):
                    call(h)
                for later in h.digest, lambda: h.update(b"x"):
                    with self.assertRaisesRegex(ValueError, "failed"):
                        later()

    def test_threads_end(self):
        """A program can keep many hashes after digest()."""
        def count():
            return len(os.listdir("/proc/self/task"))
        before = count()
        h = blkhash.new(SPEC, IMAGE * 20, threads=4)
        self.assertGreater(count(), before)
        h.digest()
        # The kernel lists a thread a moment longer than join() waits for it.
        while count() > before:
            time.sleep(0.01)

    def test_repr(self):
        self.assertEqual(repr(blkhash.new(SPEC)), "<blkhash.Hash sha256/4k>")


class SizeTest(unittest.TestCase):
    """Nothing is wrapped or converted on the way to C."""

    WRONG_TYPE = True, False, 1.0, 0.0, "1", None, b"1", [1]
    WRONG_VALUE = -1, -2**64, 2**64, 2**64 + 5, 2**128

    def test_hash(self):
        h = blkhash.new(SPEC)
        for value in self.WRONG_TYPE:
            with self.assertRaises(TypeError):
                h.zero(value)
        for value in self.WRONG_VALUE:
            with self.assertRaises(ValueError):
                h.zero(value)
        h.zero(5)
        with self.assertRaises(ValueError):
            h.zero(2**64 - 5)
        self.assertEqual(h.hexdigest(), reference.blkhash([5], "sha256", 4096))

        class Five:
            def __index__(self):
                return 5
        h = blkhash.new(SPEC)
        h.zero(Five())
        self.assertEqual(h.hexdigest(), reference.blkhash([5], "sha256", 4096))

    def test_leaves(self):
        for value in self.WRONG_TYPE:
            with self.assertRaises(TypeError):
                blkhash.Leaves(SPEC, value)
        for value in self.WRONG_VALUE + (2**64 - 1,):
            with self.assertRaises(ValueError):
                blkhash.Leaves(SPEC, value)
        t = blkhash.Leaves(SPEC, 10000)
        for call in (lambda v: t.zero(v, 1), lambda v: t.zero(0, v),
                     lambda v: t.put(v, b"x"), lambda v: t.put(v, b""),
                     lambda v: t.put_leaves(v, bytes(32))):
            for value in self.WRONG_TYPE:
                with self.assertRaises(TypeError):
                    call(value)
            for value in self.WRONG_VALUE:
                with self.assertRaises(ValueError):
                    call(value)
        for call in (lambda: t.zero(10000, 1), lambda: t.zero(0, 10001),
                     lambda: t.put(9999, b"xy"), lambda: t.put(10001, b""),
                     lambda: t.zero(1, 2**64 - 1),
                     lambda: t.put_leaves(8192, bytes(64)),
                     lambda: t.put_leaves(12288, bytes(32)),
                     lambda: t.put_leaves(1, bytes(32)),
                     lambda: t.put_leaves(0, bytes(31)),
                     lambda: t.put_leaves(0, b"x"),
                     lambda: blkhash.Leaves("null", 1).put_leaves(0, b"")):
            with self.assertRaises(ValueError):
                call()
        self.assertEqual(t.missing(), [(0, 10000)])
        t.put(10000, b"")
        t.zero(10000, 0)
        t.put_leaves(0, b"")
        self.assertEqual(t.missing(), [(0, 10000)])

    def test_largest(self):
        largest = 2**64 - 2
        t = blkhash.Leaves("sha256/16m", largest)
        t.put(largest - 3, b"end")
        self.assertEqual(t.missing(), [(0, largest - 3)])
        t.zero(0, largest - 3)
        self.assertEqual(t.missing(), [])
        with self.assertRaises(ValueError):
            t.zero(largest, 1)


class BufferTest(unittest.TestCase):
    def test_kinds(self):
        with tempfile.TemporaryFile() as f:
            f.write(IMAGE)
            f.flush()
            mapped = mmap.mmap(f.fileno(), len(IMAGE), prot=mmap.PROT_READ)
        words = array.array("I", IMAGE[:256000])
        for data in (IMAGE, bytearray(IMAGE), memoryview(IMAGE), mapped,
                     memoryview(mapped),
                     memoryview(bytearray(IMAGE)).toreadonly()):
            h = blkhash.new(SPEC)
            h.update(data)
            self.assertEqual(h.hexdigest(), EXPECTED)
            t = blkhash.Leaves(SPEC, len(IMAGE))
            t.put(0, data)
            self.assertEqual(t.sum().hex(), EXPECTED)
        mapped.close()          # fails if a view was kept
        h = blkhash.new(SPEC, words)
        h.update(memoryview(IMAGE)[256000:])
        self.assertEqual(h.hexdigest(), EXPECTED)

    def test_refused(self):
        h, t = blkhash.new(SPEC), blkhash.Leaves(SPEC, 1000)
        for call in (h.update, lambda data: t.put(0, data),
                     lambda data: t.put_leaves(0, data),
                     lambda data: blkhash.new(SPEC, data)):
            for data in "text", None, 5, [1, 2]:
                with self.assertRaises(TypeError):
                    call(data)
            with self.assertRaises(BufferError):
                call(memoryview(bytes(100))[::2])
        # Nothing was appended or set, and both can be used.
        self.assertEqual(h.hexdigest(), reference.blkhash(b"", "sha256", 4096))
        self.assertEqual(t.missing(), [(0, 1000)])

    def test_locked(self):
        """A bytearray cannot be resized during a call, but after it."""
        data = bytearray(IMAGE)
        for name, call in (("blkhash_update", blkhash.new(SPEC).update),
                           ("blkhash_leaves_data", lambda d: blkhash.Leaves(
                               SPEC, len(IMAGE)).put(0, d))):
            tried = []

            def resize(*arguments):
                try:
                    data.append(1)
                except BufferError:
                    tried.append(True)
                return function(*arguments)
            with replaced(_lib.lib, name, resize) as function:
                call(data)
            self.assertEqual(tried, [True])
            data.append(1)
            data.pop()

    def test_slices(self):
        """Long data is cut into several calls of C."""
        h, t = blkhash.new(SPEC), blkhash.Leaves(SPEC, len(IMAGE))
        h._data_slice = t._data_slice = 8192
        h._zero_slice = 4096
        h.update(IMAGE[:1000])
        h.update(IMAGE[1000:300000])
        self.assertEqual(IMAGE[300000:400000], bytes(100000))
        h.zero(100000)
        h.update(IMAGE[400000:])
        t.put(5000, IMAGE[5000:])
        t.put(0, IMAGE[:5000])
        self.assertEqual([h.hexdigest(), t.sum().hex()], [EXPECTED] * 2)
        for size in 1, 4096, 5000, 2**26, 2**62:
            for start, length in ((0, 0), (0, 1), (4095, 2), (1, 3 * 4096),
                                  (4096, 4096), (2**62, 2**62 // 2**40)):
                if length // size > 10**5:
                    continue
                at = start
                for s, n in _lib.slices(start, length, size):
                    self.assertEqual(s, at)
                    self.assertTrue(0 < n <= size)
                    self.assertEqual(s // size, (s + n - 1) // size)
                    at += n
                self.assertEqual(at, start + length)


class LeavesTest(InDirectory):
    def test_any_order(self):
        t = blkhash.Leaves(SPEC, len(IMAGE))
        self.assertEqual((t.spec, t.size, t.block_size),
                         ("sha256/4k", len(IMAGE), 4096))
        t.put(256000, IMAGE[256000:])
        self.assertEqual(t.missing(), [(0, 256000)])
        with self.assertRaises(blkhash.IncompleteError) as caught:
            t.sum()
        self.assertEqual((caught.exception.start, caught.exception.length),
                         (0, 256000))
        self.assertIn("256000 bytes at 0", str(caught.exception))
        with self.assertRaises(blkhash.IncompleteError):
            t.write_manifest(self.path)
        self.assertEqual(os.listdir(self.dir), [])
        t.put(0, IMAGE[:256000])
        self.assertEqual(t.missing(), [])
        self.assertEqual(t.sum().hex(), EXPECTED)
        self.assertEqual(t.write_manifest(self.path).hex(), EXPECTED)
        with open(self.path, "rb") as f:
            self.assertEqual(f.read(), refmanifest.write(IMAGE, "sha256", 4096))
        t.zero(0, 1)            # the rest of the first block was not kept
        self.assertEqual(t.missing(), [(1, 4095)])

    def test_leaves_of_zeros(self):
        """The leaf of a block of zeros makes a block of zeros; the short last
        one, too."""
        size = 3 * 4096 + 5
        leaves = b"".join(hashlib.sha256(bytes(n)).digest()
                          for n in (4096, 4096, 4096, 5))
        t = blkhash.Leaves(SPEC, size)
        t.put_leaves(0, leaves)
        t.write_manifest(self.path)
        m = blkhash.Manifest(self.path)
        self.assertEqual(list(m.leaves()), [(0, size, None)])

    def test_empty(self):
        t = blkhash.Leaves(SPEC, 0)
        self.assertEqual(t.missing(), [])
        t.write_manifest(self.path)
        m = blkhash.Manifest(self.path)
        self.assertEqual((m.size, m.sum, list(m.leaves())), (0, t.sum(), []))

    def test_close(self):
        with blkhash.Leaves(SPEC, 10) as t:
            t.put(0, bytes(10))
        for call in (lambda: t.put(0, b"x"), lambda: t.zero(0, 1), t.missing,
                     t.sum, lambda: t.put(0, b""),
                     lambda: t.put_leaves(0, b""),
                     lambda: t.write_manifest(self.path)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        t.close()
        self.assertEqual(os.listdir(self.dir), [])

    def test_close_during_put(self):
        t = blkhash.Leaves(SPEC, len(IMAGE))
        refused = []

        def close(*arguments):
            try:
                t.close()
            except RuntimeError as e:
                refused.append(str(e))
            return function(*arguments)
        with replaced(_lib.lib, "blkhash_leaves_data", close) as function:
            t.put(0, IMAGE)
        self.assertEqual(len(refused), 1)
        self.assertEqual(t.sum().hex(), EXPECTED)
        t.close()

    def test_replace(self):
        t = blkhash.Leaves(SPEC, len(IMAGE))
        t.put(0, IMAGE)
        manifest = refmanifest.write(IMAGE, "sha256", 4096)
        old = self.manifest(b"old", "old")
        empty = self.write(b"", "empty")
        os.symlink("target", os.path.join(self.dir, "link"))
        for name in old, empty, "link", "new":
            path = os.path.join(self.dir, name)
            t.write_manifest(path)
            with open(path, "rb") as f:
                self.assertEqual(f.read(), manifest)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertTrue(os.path.islink(os.path.join(self.dir, "link")))
        t.write_manifest(os.fsencode(self.path))
        disk = self.write(IMAGE, "disk.raw")
        os.mkfifo(os.path.join(self.dir, "fifo"))
        before = sorted(os.listdir(self.dir))
        for name in "disk.raw", "fifo", "":
            with self.assertRaises(FileExistsError):
                t.write_manifest(os.path.join(self.dir, name))
        with open(disk, "rb") as f:
            self.assertEqual(f.read(), IMAGE)
        with self.assertRaises(FileNotFoundError):
            t.write_manifest(os.path.join(self.dir, "none", "disk.blkm"))
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_write_fails(self):
        """An error leaves the old file, and no other."""
        t = blkhash.Leaves(SPEC, len(IMAGE))
        t.put(0, IMAGE)
        self.manifest(b"old")
        with open(self.path, "rb") as f:
            old = f.read()

        def fail(*arguments):
            raise OSError(errno.ENOSPC, "No space left on device")
        for module, name in ((os, "fsync"), (os, "replace"),
                             (_lib.lib, "blkhash_leaves_save")):
            with replaced(module, name, fail), self.assertRaises(OSError):
                t.write_manifest(self.path)
            self.assertEqual(os.listdir(self.dir), ["disk.blkm"])
            with open(self.path, "rb") as f:
                self.assertEqual(f.read(), old)

    def test_error_names_file(self):
        """An error names the file as it was given, and no temporary one."""
        t = blkhash.Leaves(SPEC, 0)
        link = os.path.join(self.dir, "link")
        os.symlink(self.write(b"disk", "disk.raw"), link)
        none = os.path.join(self.dir, "none", "disk.blkm")

        def replace(source, target):
            return function(source, os.path.join(target, "x"))

        def fails(path, name):
            with self.assertRaises(OSError) as raised:
                t.write_manifest(path)
            e = raised.exception
            self.assertEqual((e.filename, e.filename2), (name, None))
            self.assertTrue(str(e).endswith(": %r" % (name,)), str(e))
            return type(e)

        for path in none, os.fsencode(none):
            self.assertIs(fails(path, path), FileNotFoundError)
        self.assertIs(fails(pathlib.Path(none), none), FileNotFoundError)
        self.assertIs(fails(link, link), FileExistsError)
        with replaced(os, "replace", replace) as function:
            self.assertIs(fails(self.path, self.path), FileNotFoundError)
        with replaced(_lib.lib, "blkhash_leaves_save", lambda *_: errno.ENOSPC):
            self.assertIs(fails(self.path, self.path), OSError)

        def late(fd):
            raise late_error
        # The exception of a handler of a signal stays as it is.
        late_error = TimeoutError("too late")
        with replaced(os, "fsync", late), self.assertRaises(TimeoutError) as e:
            t.write_manifest(self.path)
        self.assertIs(e.exception, late_error)
        self.assertEqual(str(late_error), "too late")

    def test_replaced_meanwhile(self):
        """A disk that appears at the path while the manifest is written
        stays."""
        t = blkhash.Leaves(SPEC, len(IMAGE))
        t.put(0, IMAGE)

        def sync(fd):
            self.write(b"disk")
            return function(fd)
        with replaced(os, "fsync", sync) as function, \
                self.assertRaises(FileExistsError):
            t.write_manifest(self.path)
        self.assertEqual(os.listdir(self.dir), ["disk.blkm"])
        with open(self.path, "rb") as f:
            self.assertEqual(f.read(), b"disk")

    def test_directory_is_not_synced(self):
        """That a directory cannot be synced is no error; that it fails is
        one."""
        t = blkhash.Leaves(SPEC, 0)

        def sync(fd):
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise OSError(err, "sync")
        for err in errno.EINVAL, errno.EIO:
            with replaced(os, "fsync", sync):
                try:
                    t.write_manifest(self.path)
                    self.assertEqual(err, errno.EINVAL)
                except OSError:
                    self.assertEqual(err, errno.EIO)
        t.write_manifest(self.path)

    def test_errors(self):
        t = blkhash.Leaves(SPEC, 10)
        for err, exception in ((errno.EIO, OSError),
                               (errno.ENOMEM, MemoryError),
                               (errno.EBUSY, RuntimeError)):
            for name, call in (("zero", lambda: t.zero(0, 1)),
                               ("data", lambda: t.put(0, b"x")),
                               ("next_missing", t.missing),
                               ("fold", t.sum),
                               ("save", lambda: t.write_manifest(self.path))):
                if err == errno.EBUSY and name not in ("fold", "save"):
                    continue
                name = "blkhash_leaves_" + name
                with replaced(_lib.lib, name, lambda *_: err), \
                        self.assertRaises(exception):
                    call()
        self.assertEqual(os.listdir(self.dir), [])
        self.assertEqual(repr(t), "<blkhash.Leaves sha256/4k, 10 bytes>")


class ManifestTest(InDirectory):
    def test_attributes(self):
        m = blkhash.Manifest(self.manifest())
        self.assertEqual((m.spec, m.size, m.block_size, m.complete),
                         (SPEC, len(IMAGE), 4096, True))
        self.assertEqual(m.sum.hex(), EXPECTED)
        m = blkhash.Manifest(os.fsencode(self.path), verify=False)
        self.assertFalse(hasattr(m, "sum"))
        with open(self.path, "rb") as f:
            m = blkhash.Manifest(f.fileno())
            self.assertEqual(m.sum.hex(), EXPECTED)
            self.assertEqual(f.tell(), 0)
            self.assertEqual(len(list(m.leaves())), 65)
        for wrong in None, True, 1.5, ["x"]:
            with self.assertRaises(TypeError):
                blkhash.Manifest(wrong)
        with self.assertRaises(FileNotFoundError):
            blkhash.Manifest(self.path + "x")

    def test_part(self):
        path = self.write(refmanifest.part(IMAGE, 3, 5, "sha256", 4096))
        m = blkhash.Manifest(path)
        self.assertFalse(m.complete)
        self.assertFalse(hasattr(m, "sum"))
        self.assertEqual([(o, n) for o, n, _ in m.leaves()],
                         [(i * 4096, 4096) for i in range(3, 8)])

    def test_damaged(self):
        data = refmanifest.write(IMAGE, "sha256", 4096)
        for at in range(0, len(data), 97):
            self.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            with self.assertRaises(blkhash.ManifestError):
                blkhash.Manifest(self.path)
            self.write(data[:at])
            with self.assertRaises(blkhash.ManifestError):
                blkhash.Manifest(self.path)
        self.write(data + b"x")
        with self.assertRaisesRegex(blkhash.ManifestError, "trailing"):
            blkhash.Manifest(self.path)
        # Right CRCs, but another sum.
        end = 16 + 32 + 8
        wrong = refmanifest.end(data[:512], -(-len(IMAGE) // 4096), bytes(32))
        self.write(data[:-end] + wrong)
        with self.assertRaisesRegex(blkhash.ManifestError, "sum"):
            blkhash.Manifest(self.path)
        m = blkhash.Manifest(self.path, verify=False)
        self.assertEqual(len(list(m.leaves())), 65)
        # Damage that is found only by reading on.
        self.write(data[:-1])
        iterator = blkhash.Manifest(self.path, verify=False).leaves()
        with self.assertRaises(blkhash.ManifestError):
            for _ in iterator:
                pass
        for path in self.dir, "/dev/null":
            with self.assertRaises(blkhash.ManifestError):
                blkhash.Manifest(path)
        os.mkfifo(os.path.join(self.dir, "fifo"))
        with self.assertRaises(blkhash.ManifestError):
            blkhash.Manifest(os.path.join(self.dir, "fifo"))
        # No FileNotFoundError, which could mean that there is no manifest yet.
        closed = os.open(self.dir, os.O_RDONLY)
        os.close(closed)
        for descriptor in closed, 10**6, -1:
            with self.assertRaises(OSError) as raised:
                blkhash.Manifest(descriptor)
            self.assertEqual(raised.exception.errno, errno.EBADF)

    def test_iterators(self):
        """They are independent of each other."""
        m = blkhash.Manifest(self.manifest())
        wanted = list(m.leaves())
        a, b = m.leaves(), m.leaves()
        self.assertEqual([next(a) for _ in range(10)], wanted[:10])
        self.assertEqual(list(itertools.islice(b, 5)), wanted[:5])
        self.assertEqual(list(a), wanted[10:])
        self.assertEqual(list(m.leaves()), wanted)
        self.assertEqual(list(b), wanted[5:])
        opened = len(os.listdir("/proc/self/fd"))
        a = m.leaves()
        next(a)
        del a                   # closes its descriptor
        self.assertEqual(len(os.listdir("/proc/self/fd")), opened)

    def test_changed(self):
        """A file that changes is an error: before, during and after."""
        m = blkhash.Manifest(self.manifest())
        other = blkhash.Manifest(self.manifest(b"x" + IMAGE[1:-1] + b"x",
                                               "other"))
        iterators = m.leaves(), m.differences(other), other.differences(m)
        for iterator in iterators:
            next(iterator)
        os.utime(self.path, ns=(1, 1))
        for iterator in iterators + (m.leaves(), m.differences(other),
                                     other.differences(m)):
            with self.assertRaisesRegex(blkhash.ManifestError, "changed"):
                for _ in iterator:
                    pass
        self.assertEqual(len(list(other.leaves())), 65)
        m = blkhash.Manifest(self.path)
        os.rename(os.path.join(self.dir, "other"), self.path)
        with self.assertRaisesRegex(blkhash.ManifestError, "changed"):
            next(m.leaves())

    def test_changed_meanwhile(self):
        """The file changes while it is verified."""
        self.manifest()

        def fold(*arguments):
            os.utime(self.path, ns=(1, 1))
            return function(*arguments)
        with replaced(_lib.lib, "blkhash_leaves_fold", fold) as function, \
                self.assertRaisesRegex(blkhash.ManifestError, "changed"):
            blkhash.Manifest(self.path)

    def test_changed_secretly(self):
        """The file system does not show that it is another file."""
        version = 0, 0, 0, 0, 0
        with replaced(_manifest.Reader, "get_version", lambda _: version):
            m = blkhash.Manifest(self.manifest())
            other = blkhash.Manifest(self.manifest(IMAGE, "other"))
            self.manifest(b"x" + IMAGE[1:])
            for iterator in (m.leaves(), m.differences(other),
                             other.differences(m)):
                with self.assertRaisesRegex(blkhash.ManifestError, "changed"):
                    for _ in iterator:
                        pass

    def test_differences(self):
        m = blkhash.Manifest(self.manifest())
        changed = bytearray(IMAGE)
        changed[5000] ^= 1
        changed[9000] ^= 1
        changed[-1] ^= 1
        other = blkhash.Manifest(self.manifest(bytes(changed), "other"))
        ranges, _ = refmanifest.diff(IMAGE, bytes(changed), 4096)
        self.assertEqual([list(r) for r in m.differences(other)], ranges)
        self.assertEqual(list(m.differences(m)), [])
        # The smaller image ends within a block.
        longer = blkhash.Manifest(self.manifest(IMAGE + b"x", "longer"))
        for a, b in (m, longer), (longer, m):
            iterator = a.differences(b)
            with self.assertRaises(blkhash.UnknownDifference) as caught:
                next(iterator)
            at = len(IMAGE) // 4096 * 4096
            self.assertEqual((caught.exception.start, caught.exception.length),
                             (at, len(IMAGE) + 1 - at))
        # Zeros are no difference.
        longer = blkhash.Manifest(self.manifest([IMAGE[:8192], 10**9],
                                                "longer"))
        self.assertEqual(list(blkhash.Manifest(self.manifest(
            IMAGE[:8192], "short")).differences(longer)), [])
        for wrong in None, self.path, 5:
            with self.assertRaises(TypeError):
                m.differences(wrong)
        wrong = blkhash.Manifest(self.manifest(IMAGE, "wrong", 8192))
        with self.assertRaisesRegex(ValueError, "block size"):
            next(m.differences(wrong))

    def test_exceptions(self):
        """They can be sent to another process."""
        for e in (blkhash.UnknownDifference(1, 2),
                  blkhash.IncompleteError(3, 4), blkhash.ManifestError("x")):
            same = pickle.loads(pickle.dumps(e))
            self.assertEqual((type(same), str(same), vars(same)),
                             (type(e), str(e), vars(e)))

    def test_too_many_blocks(self):
        size = 2**62
        head = refmanifest.header("blk-sha256/4k", size, 0, size // 4096)
        huge = head + refmanifest.record(
            0, size // 4096 | refmanifest.ZERO, b"") + refmanifest.end(
                head, size // 4096, bytes(32))
        self.write(huge)
        with self.assertRaisesRegex(ValueError, "max_blocks"):
            blkhash.Manifest(self.path)
        m = blkhash.Manifest(self.path, verify=False)
        self.assertEqual(list(m.leaves()), [(0, size, None)])
        self.manifest()
        blkhash.Manifest(self.path, max_blocks=136)
        with self.assertRaises(ValueError):
            blkhash.Manifest(self.path, max_blocks=135)
        self.write(huge)
        with self.assertRaises(KeyboardInterrupt), \
                interrupted("blkhash_leaves_put_run"):
            blkhash.Manifest(self.path, max_blocks=None)

    def test_zeros_are_added(self):
        """More zeros than one call of C adds."""
        blocks = _lib.ZERO_BLOCKS
        self.addCleanup(setattr, _lib, "ZERO_BLOCKS", blocks)
        _lib.ZERO_BLOCKS = 7
        m = blkhash.Manifest(self.manifest([b"x" * 5000, 123456, b"y", 8200]))
        self.assertEqual(m.sum.hex(), reference.blkhash(
            [b"x" * 5000, 123456, b"y", 8200], "sha256", 4096))


class ParseSumTest(unittest.TestCase):
    def test_forms(self):
        digest = bytes(range(32))
        text = digest.hex()
        for form, spec, name in (
                ("%s", None, None), ("%s\n", None, None),
                ("%s  disk.raw", None, "disk.raw"),
                ("%s *disk.raw", None, "disk.raw"),
                ("blk-sha256/64k (a) = %s", "sha256/64k", "a"),
                ("blk-sha256/64k (a (b) = c) = %s", "sha256/64k", "a (b) = c"),
                ("blk-sha256/64k = %s", "sha256/64k", None),
                ("blk-sha256/4m/linear:%s\r\n", "sha256/4m/linear", None),
                ("\\%s  a\\nb", None, "a\nb"),
                ("%s  \udcff", None, "\udcff")):
            self.assertEqual(blkhash.parse_sum(form % text),
                             (spec, digest, name), form)
        found = blkhash.parse_sum("blk-sha256/64k:" + text.upper())
        self.assertEqual((found.spec, found.digest, found.name),
                         ("sha256/64k", digest, None))

    def test_refused(self):
        text = bytes(32).hex()
        for wrong in ("", "x", "# unknown", text + "\n" + text,
                      "blk-sha256/64k:" + text[2:], "blk-nothing/64k:" + text,
                      "SHA256 (a) = " + text, "sha256:" + text, text + "\0"):
            with self.assertRaises(ValueError, msg=repr(wrong)) as caught:
                blkhash.parse_sum(wrong)
            self.assertTrue(str(caught.exception))
        for wrong in None, text.encode(), 5:
            with self.assertRaises(TypeError):
                blkhash.parse_sum(wrong)


class ThreadTest(unittest.TestCase):
    def run_threads(self, functions):
        failures = []

        def run(function):
            try:
                function()
            except BaseException as e:
                failures.append(e)
        threads = [threading.Thread(target=run, args=(f,)) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_hash(self):
        """Updates of threads are whole: here all are equal."""
        h = blkhash.new(SPEC)

        def update():
            for _ in range(50):
                h.update(b"x" * 5000)
                h.zero(0)
        self.run_threads([update] * 4)
        self.assertEqual(h.hexdigest(), reference.blkhash(
            b"x" * 5000 * 200, "sha256", 4096))
        h = blkhash.new(SPEC, IMAGE)
        digests = []
        self.run_threads([lambda: digests.append(h.hexdigest())] * 8)
        self.assertEqual(digests, [EXPECTED] * 8)

    def test_digest_during_update(self):
        """A digest is that of whole updates."""
        for _ in range(20):
            h = blkhash.new(SPEC)
            appended = []

            def update():
                try:
                    while True:
                        h.update(b"x" * 5000)
                        appended.append(1)
                except ValueError:
                    pass
            thread = threading.Thread(target=update)
            thread.start()
            while not appended:
                pass
            digest = h.hexdigest()
            thread.join()
            self.assertEqual(digest, reference.blkhash(
                b"x" * 5000 * len(appended), "sha256", 4096))

    def test_leaves(self):
        t = blkhash.Leaves(SPEC, len(IMAGE))
        pieces = [(at, IMAGE[at:at + 3000])
                  for at in range(0, len(IMAGE), 3000)]
        self.run_threads([
            lambda i=i: [t.put(*piece) for piece in pieces[i::4]]
            for i in range(4)])
        self.assertEqual(t.sum().hex(), EXPECTED)
        sums = []
        self.run_threads([lambda: sums.append(t.sum().hex())] * 4)
        self.assertEqual(sums, [EXPECTED] * 4)

    def test_close(self):
        """close() fails during a call, and all calls after it; nothing
        crashes."""
        for _ in range(20):
            t = blkhash.Leaves(SPEC, len(IMAGE))

            def put():
                try:
                    for _ in range(10):
                        t.put(0, IMAGE)
                except ValueError as e:
                    self.assertIn("closed", str(e))

            def close():
                while True:
                    try:
                        return t.close()
                    except RuntimeError:
                        pass
            self.run_threads([put, put, close])
            with self.assertRaises(ValueError):
                t.missing()


class SignalTest(InDirectory):
    SIZE = 2**62

    def interrupt(self, name, call):
        with self.assertRaises(KeyboardInterrupt), interrupted(name):
            call()

    def test_hash(self):
        h = blkhash.new(SPEC, b"x")
        self.interrupt("blkhash_zero", lambda: h.zero(self.SIZE))
        for call in h.digest, lambda: h.update(b"x"), lambda: h.zero(1):
            with self.assertRaisesRegex(ValueError, "interrupted"):
                call()

    def test_leaves(self):
        for name, call in (("blkhash_leaves_fold", lambda t: t.sum()),
                           ("blkhash_leaves_save",
                            lambda t: t.write_manifest(self.path))):
            t = blkhash.Leaves(SPEC, self.SIZE)
            t.zero(0, self.SIZE)
            self.interrupt(name, lambda: call(t))
            self.assertEqual(t.missing(), [(0, self.SIZE)])
            t.close()
            self.assertEqual(os.listdir(self.dir), [])

    def test_in_thread(self):
        """A table so large that the main thread waits for another one."""
        size = (_lib.ZERO_BLOCKS + 1) * 4
        t = blkhash.Leaves("sha1/4", size)
        t.zero(0, size)
        t.put(8, b"data")
        expected = reference.blkhash([8, b"data", size - 12], "sha1", 4)
        self.assertEqual(t.sum().hex(), expected)
        self.assertEqual(t.write_manifest(self.path).hex(), expected)
        self.assertEqual(blkhash.Manifest(self.path).sum.hex(), expected)

    def test_signals_in_write_manifest(self):
        """If signals end the call, its thread can still write; not to a file
        that the program opens meanwhile."""
        size = (_lib.ZERO_BLOCKS + 1) * 4
        t = blkhash.Leaves("sha1/4", size)
        t.zero(0, size)
        go, ended = threading.Event(), threading.Event()

        def save(pointer, fd, *_):
            os.kill(os.getpid(), signal.SIGINT)
            go.wait()
            os.write(fd, b"manifest")
            ended.set()
            return errno.EINVAL

        def forget(*_):
            raise KeyboardInterrupt     # of a second signal

        with replaced(_lib.lib, "blkhash_leaves_save", save), \
                replaced(_lib.lib, "blkhash_leaves_forget", forget):
            with self.assertRaises(KeyboardInterrupt):
                t.write_manifest(self.path)
            files = [open(self.write(b"", str(i)), "r+b") for i in range(5)]
            go.set()
            ended.wait()
        for file in files:
            self.assertEqual(os.fstat(file.fileno()).st_size, 0)
            file.close()

    def test_with(self):
        """An exception of a signal in a call is not replaced."""
        with self.assertRaises(KeyboardInterrupt):
            with blkhash.Leaves(SPEC, 1) as t:
                t._handle.__enter__()
                raise KeyboardInterrupt
        t._handle.__exit__()
        with self.assertRaisesRegex(RuntimeError, "during a call"):
            with t:
                t._handle.__enter__()
        t._handle.__exit__()
        t.close()

    def test_handler_uses_objects(self):
        """A handler that uses the same objects gets an answer or an
        exception."""
        h = blkhash.new(SPEC)
        t = blkhash.Leaves(SPEC, 2**30)
        answers = []

        def handler(*_):
            for call in (lambda: h.update(b"x"), h.digest,
                         lambda: t.put(0, bytes(4096)), t.missing):
                try:
                    answers.append(call())
                except ValueError as e:
                    answers.append(str(e))
        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

        def zero(*arguments):
            if not answers:
                signal.raise_signal(signal.SIGUSR1)
            return function(*arguments)
        with replaced(_lib.lib, "blkhash_zero", zero) as function:
            h.zero(10)
        self.assertIn("in progress", answers[0])
        self.assertIn("in progress", answers[1])
        self.assertEqual(answers[2:], [None, [(4096, 2**30 - 4096)]])
        self.assertEqual(h.hexdigest(), reference.blkhash([10], "sha256", 4096))


class GuideTest(InDirectory):
    """incremental.py of docs/python.md makes the manifest of the whole disk,
    whatever has changed, or none."""

    def setUp(self):
        super().setUp()
        guide = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                             "python.md")
        with open(guide, encoding="utf-8") as f:
            text = f.read().split("    # incremental.py\n")[1]
        lines = itertools.takewhile(
            lambda line: not line or line.startswith("    "), text.split("\n"))
        self.program = compile("\n".join(line[4:] for line in lines),
                               "incremental.py", "exec")
        self.new = os.path.join(self.dir, "new.blkm")

    def run_program(self, disk, changes):
        self.write(disk, "disk.raw")
        text = "".join("%d %d\n" % change for change in changes)
        names = [os.path.join(self.dir, name)
                 for name in ("disk.blkm", "disk.raw", "new.blkm")]
        stdout = io.StringIO()
        with replaced(sys, "argv", ["incremental.py", *names]), \
                replaced(sys, "stdin", io.StringIO(text)), \
                contextlib.redirect_stdout(stdout):
            exec(self.program, {})
        return stdout.getvalue()

    def test_changes(self):
        rng = random.Random(1)
        for size in (0, 1, 4096, 4097, 8192, len(IMAGE) - 5000, len(IMAGE),
                     len(IMAGE) + 1, len(IMAGE) + 9000) * 5:
            disk = bytearray((IMAGE + bytes(3000) + b"x" * 6000)[:size])
            changes = []
            for _ in range(rng.randrange(4)):
                start = rng.randrange(len(IMAGE))
                length = rng.choice((1, 2, 4096, rng.randrange(60000)))
                end = min(start + length, size)
                disk[start:end] = rng.choice((bytes, rng.randbytes))(
                    max(0, end - start))
                changes.append((start, length))
            self.manifest()
            output = self.run_program(disk, changes)
            self.assertEqual(output, reference.blkhash(
                bytes(disk), "sha256", 4096) + "\n", (size, changes))
            with open(self.new, "rb") as f:
                self.assertEqual(f.read(), refmanifest.write(
                    bytes(disk), "sha256", 4096), (size, changes))

    def test_failures(self):
        """A read that is short; a manifest that changes meanwhile."""
        self.manifest()
        with replaced(os, "pread", lambda *_: b""), \
                self.assertRaisesRegex(SystemExit, "ends at 4096"):
            self.run_program(IMAGE, [(5000, 5000)])

        def put_leaves(*arguments):
            os.utime(self.path, ns=(1, 1))
            return function(*arguments)
        with replaced(blkhash.Leaves, "put_leaves", put_leaves) as function, \
                self.assertRaisesRegex(blkhash.ManifestError, "changed"):
            self.run_program(IMAGE[:8192], [])
        self.assertFalse(os.path.exists(self.new))


class HelpTest(unittest.TestCase):
    def test_help(self):
        text = pydoc.plain(pydoc.render_doc(blkhash))
        for line in ("blkhash - Hash disk images fast", "class Hash(",
                     " |  update(self, data", " |  differences(self, other",
                     "\n    new("):
            self.assertIn(line, text)

    def test_docstrings(self):
        """All that help() shows has a docstring."""
        for name in blkhash.__all__:
            thing = getattr(blkhash, name)
            self.assertTrue(thing.__doc__, name)
            for method in vars(thing) if isinstance(thing, type) else ():
                if not method.startswith("_") and \
                        callable(getattr(thing, method)):
                    self.assertTrue(getattr(thing, method).__doc__, method)
        public = {name for name in vars(blkhash) if not name.startswith("_")}
        self.assertEqual(public, set(blkhash.__all__))


if __name__ == "__main__":
    unittest.main()

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Manifests: verify them, read their leaves, compare them."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from contextlib import closing
from ctypes import byref
from functools import partial
from typing import Any, Iterator, NoReturn, Optional, Tuple, Union

from . import _lib
from ._lib import lib

MAX_BLOCKS = 2**32              # 256 TiB in blocks of 64k: a minute or two

File = Union[str, bytes, "os.PathLike[Any]", int]


class ManifestError(ValueError):
    """The file is not a manifest, or is damaged, or has changed."""


class UnknownDifference(Exception):
    """The smaller image ends within the block of length bytes at start, and
    both images have data there: manifests do not show whether they differ in
    it."""

    def __init__(self, start: int, length: int) -> None:
        super().__init__(start, length)
        self.start, self.length = start, length

    def __str__(self) -> str:
        return ("the smaller image ends within the %d bytes at %d: the "
                "manifests do not show whether they differ"
                % (self.length, self.start))


class Reader:
    """Reads a manifest from its start, with a file offset of its own.  It does
    not compute the sum, because it would add long zeros in one call of C."""

    def __init__(self, file: File) -> None:
        self.name = "descriptor %d" % file if isinstance(file, int) \
            else os.fsdecode(file)
        if isinstance(file, int):
            os.fstat(file)      # EBADF: it is no file that does not exist
        path = "/proc/self/fd/%d" % file if isinstance(file, int) else file
        # O_NONBLOCK: do not wait for a writer of a FIFO.
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self.version = self.get_version()
            if not stat.S_ISREG(os.fstat(self.fd).st_mode):
                raise ManifestError("%s: not a regular file" % self.name)
            reason = ctypes.create_string_buffer(_lib.MAX_REASON_SIZE)
            self.pointer: int = lib.blkhash_manifest_reader_new(
                self.fd, _lib.MANIFEST_NO_SUM, reason, len(reason))
            if not self.pointer:
                raise self.error(ctypes.get_errno(), reason.value)
        except BaseException:
            os.close(self.fd)
            raise
        self.handle = _lib.Handle(self.pointer, partial(free_reader, self.fd))
        self.opts: int = lib.blkhash_manifest_reader_opts(self.pointer)
        self.size: int = lib.blkhash_manifest_reader_size(self.pointer)
        self.complete = bool(
            lib.blkhash_manifest_reader_is_complete(self.pointer))

    def close(self) -> None:
        self.handle.close()

    def get_version(self) -> Tuple[int, ...]:
        """Which file it is, and in which state: a write changes the times."""
        st = os.fstat(self.fd)
        return (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns,
                st.st_ctime_ns)

    def check_version(self, version: Tuple[int, ...]) -> None:
        if self.get_version() != version:
            raise ManifestError("%s: the file has changed" % self.name)

    def error(self, err: int, reason: Optional[bytes] = None) -> Exception:
        if reason is None:
            reason = lib.blkhash_manifest_reader_error(self.pointer)
        text = "%s: %s" % (self.name, (reason or b"").decode(errors="replace")
                           or os.strerror(err))
        if err in (errno.EBADMSG, errno.ENOTSUP):
            return ManifestError(text)
        return ValueError(text) if err == errno.EINVAL \
            else _lib.error(err, text)

    def runs(self) -> Iterator[_lib.Run]:
        """The runs of leaves, each in the same object; its leaves are valid
        until the next one."""
        run = _lib.Run()
        while True:
            with self.handle as pointer:
                err = lib.blkhash_manifest_reader_next(pointer, byref(run))
            if err == errno.ENOENT:
                return
            if err:
                raise self.error(err)
            yield run

    def sum(self) -> Optional[bytes]:
        """The sum in the manifest, after runs(); None in that of a part."""
        err, digest = _lib.get_digest(lib.blkhash_manifest_reader_sum,
                                      self.pointer)
        return None if err else digest

    def verify(self) -> Optional[bytes]:
        """Read all, and verify the sum, which is returned.  A leaf table
        computes it, which gets long zeros in slices."""
        table = lib.blkhash_leaves_new(self.opts, self.size, _lib.LEAVES_ONCE)
        if not table:
            raise _lib.error(ctypes.get_errno())
        try:
            for run in self.runs():
                end = run.first + run.count
                while self.complete and run.first < end:
                    run.count = end - run.first
                    if not run.leaves:
                        run.count = min(run.count, _lib.ZERO_BLOCKS)
                    _lib.check(lib.blkhash_leaves_put_run(table, byref(run)))
                    run.first += run.count
            if not self.complete:
                return None
            err, digest = _lib.get_digest(lib.blkhash_leaves_fold, table)
            _lib.check(err)
        finally:
            lib.blkhash_leaves_free(table)
        if self.sum() != digest:
            raise ManifestError("%s: the sum is not that of the leaves"
                                % self.name)
        return digest


def free_reader(fd: int, pointer: int) -> None:
    lib.blkhash_manifest_reader_free(pointer)
    os.close(fd)


def check_replaced(path: str) -> None:
    """FileExistsError: the file at PATH is neither a manifest nor empty."""
    try:
        st = os.stat(path)
        if not stat.S_ISREG(st.st_mode) or st.st_size > 0:
            Reader(path).close()
    except FileNotFoundError:
        pass
    except ManifestError:
        raise FileExistsError(errno.EEXIST, "not a manifest, so not replaced",
                              path) from None


class Manifest:
    """The manifest of an image, the leaves (digests) of its blocks, in FILE:
    the path of a regular file, or a descriptor, which must remain open.  Calls
    open it again: a path that is not absolute depends on the current directory.

    First the whole file is read, and the sum of the image computed again from
    the leaves, unless VERIFY is false.  ManifestError: it is wrong.  A small
    file can be the manifest of so many zeros that this takes weeks;
    ValueError: the image has more than MAX_BLOCKS blocks (None: any number).

    spec        how the image was hashed: "sha256/64k"
    size        of the image, in bytes
    block_size  in bytes
    complete    False: the manifest is that of a part of the image
    sum         the digest of the image, which was verified: with verify=False,
                and in the manifest of a part, there is no such attribute
    """

    sum: bytes

    def __init__(self, file: File, *, verify: bool = True,
                 max_blocks: Optional[int] = MAX_BLOCKS) -> None:
        if isinstance(file, bool):
            raise TypeError("file must be a path or a descriptor, not bool")
        self._file = file
        with closing(Reader(file)) as reader:
            parameters = _lib.Parameters(reader.opts)
            self._name = reader.name
            self._version = reader.version
            self._digest_size = parameters.digest_size
            self.spec = parameters.spec
            self.block_size = parameters.block_size
            self.size = reader.size
            self.complete = reader.complete
            if not verify:
                return
            blocks = -(-self.size // self.block_size)
            if self.complete and max_blocks is not None and blocks > max_blocks:
                raise ValueError("%s: the image has %d blocks, more than "
                                 "max_blocks, which is %d"
                                 % (self._name, blocks, max_blocks))
            digest = reader.verify()
            reader.check_version(self._version)
            if digest is not None:
                self.sum = digest

    def _open(self) -> Reader:
        reader = Reader(self._file)
        reader.check_version(self._version)
        return reader

    def _check_end(self, reader: Reader) -> None:
        """READER is at its end: was the file the one that was verified?"""
        reader.check_version(self._version)
        if getattr(self, "sum", None) not in (None, reader.sum()):
            raise ManifestError("%s: the file has changed" % self._name)

    def leaves(self) -> Iterator[Tuple[int, int, Optional[bytes]]]:
        """Iterate over (offset, length, digest) of each block, in the order of
        the image.  Consecutive blocks of zeros are one item, whose digest is
        None.

        The file is read again.  ManifestError, even at the end: it is damaged,
        or has changed.  Iterators are independent of each other."""
        size, block_size = self._digest_size, self.block_size
        with closing(self._open()) as reader:
            for run in reader.runs():
                offset = run.first * block_size
                end = min(offset + run.count * block_size, self.size)
                if not run.leaves:
                    yield offset, end - offset, None
                    continue
                leaves = ctypes.string_at(run.leaves, run.count * size)
                for at in range(0, run.count):
                    yield (offset, min(block_size, end - offset),
                           leaves[at * size:(at + 1) * size])
                    offset += block_size
            self._check_end(reader)

    def differences(self, other: Manifest) -> Iterator[Tuple[int, int]]:
        """Iterate over the ranges in which this image and that of OTHER
        differ, as (start, length): all blocks of a range differ.  Beyond the
        end of the smaller image the larger one is compared with zeros.

        The ranges are proven only when the iteration has ended without an
        exception.  ManifestError: a file is damaged, or has changed.
        UnknownDifference, at the end: the smaller image ends within a block,
        and both have data in it.  ValueError: their digests or block sizes are
        not the same, or not the parts of the image."""
        if not isinstance(other, Manifest):
            raise TypeError("other must be a Manifest, not %s"
                            % type(other).__name__)
        return self._differences(other)

    def _differences(self, other: Manifest) -> Iterator[Tuple[int, int]]:
        start, length = _lib.U64(), _lib.U64()
        with closing(self._open()) as a, closing(other._open()) as b:
            differ = lib.blkhash_manifest_differ_new(a.pointer, b.pointer)
            if not differ:
                raise_differ_error(ctypes.get_errno(), a, b)
            with closing(_lib.Handle(
                    differ, lib.blkhash_manifest_differ_free)) as handle:
                while True:
                    with handle as differ:
                        err = lib.blkhash_manifest_differ_next(
                            differ, byref(start), byref(length))
                    if err:
                        break
                    yield start.value, length.value
            if err not in (errno.ENOENT, errno.ENODATA):
                raise_differ_error(err, a, b)
            self._check_end(a)
            other._check_end(b)
            if err == errno.ENODATA:
                small, large = sorted((self.size, other.size))
                at = small - small % self.block_size
                raise UnknownDifference(at, min(self.block_size, large - at))

    def __repr__(self) -> str:
        return "<blkhash.Manifest %s: %s, %d bytes>" % (
            self._name, self.spec, self.size)


def raise_differ_error(err: int, a: Reader, b: Reader) -> NoReturn:
    """The reader that did not cause it has no reason."""
    raise (a if lib.blkhash_manifest_reader_error(a.pointer) else b).error(err)

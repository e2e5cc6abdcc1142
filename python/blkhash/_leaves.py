# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The leaves of an image that is read in any order, by any thread."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import threading
from contextlib import nullcontext, suppress
from ctypes import byref
from typing import (TYPE_CHECKING, Any, Callable, ContextManager, List,
                    NoReturn, Tuple, Union)

from . import _lib, _manifest
from ._lib import lib

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class IncompleteError(ValueError):
    """Bytes of the image are missing: length bytes at start, and others."""

    def __init__(self, start: int, length: int) -> None:
        super().__init__(start, length)
        self.start, self.length = start, length

    def __str__(self) -> str:
        return "%d bytes at %d are missing" % (self.length, self.start)


class Leaves:
    """The leaves (digests of the blocks) of an image of SIZE bytes, whose parts
    become known in any order, in any thread.

        t = blkhash.Leaves("sha256/64k", size)
        t.put(offset, data)             # in any order, from any thread
        t.zero(offset, length)
        if not t.missing():
            print(t.sum().hex())        # what blkhash.new() and blksum compute
            t.write_manifest("disk.blkm")

    A range can have any offset and length, and replaces what was there.
    Leaves are kept, but not the content: if a part of a block of data is
    replaced, the rest of the block is missing.  Blocks that are not complete
    are kept in 64 MiB, in which each counts as a whole block, with at most one
    piece for each 128 bytes (64 to 4096 pieces).  If there are more, the oldest
    of these blocks are missing again, and no call fails: read what missing()
    returns again.  After a MemoryError, or an OSError of the digest, all calls
    but close() raise it.

    spec, size and block_size are attributes.  close(), or the end of "with",
    frees the memory; it raises RuntimeError if a thread is in a call.  A forked
    child cannot use a table of its parent: RuntimeError.
    """

    def __init__(self, spec: str, size: int) -> None:
        self.size = _lib.check_int(size, "size", _lib.MAX_SIZE - 1)
        pointer, parameters = _lib.create(spec, None, lib.blkhash_leaves_new,
                                          self.size, 0)
        self._handle = _lib.Handle(pointer, lib.blkhash_leaves_free)
        self.spec = parameters.spec
        self.block_size = parameters.block_size
        self._digest_size = parameters.digest_size
        self._data_slice = _lib.data_slice(self.block_size)
        self._blocks = -(-self.size // self.block_size)

    def put(self, offset: int, data: ReadableBuffer) -> None:
        """Set the bytes at OFFSET to those of DATA, any bytes-like object.
        This thread hashes them; whole blocks, and some MiB at a time, are
        fastest.  BufferError: DATA is not contiguous."""
        view = _lib.View()
        try:
            _lib.get_buffer(data, view, 0)
            start = self._check_range(offset, view.len)
            with self._handle as pointer:
                for at, n in _lib.slices(start, view.len, self._data_slice):
                    err = lib.blkhash_leaves_data(
                        pointer, view.buf + at - start, n, at)
                    if err:
                        raise _lib.error(err)
        finally:
            _lib.release_buffer(view)

    def zero(self, offset: int, length: int) -> None:
        """Set LENGTH bytes at OFFSET to zeros, such as a hole."""
        length = _lib.check_int(length, "length")
        offset = self._check_range(offset, length)
        with self._handle as pointer:
            _lib.check(lib.blkhash_leaves_zero(pointer, length, offset))

    def put_leaves(self, offset: int, digests: ReadableBuffer) -> None:
        """Set the leaves of the blocks from OFFSET on, a multiple of the block
        size, to DIGESTS, any bytes-like object with one digest after the other.
        The last block of the image can be short; its leaf is the digest of its
        bytes."""
        first, rest = divmod(_lib.check_int(offset, "offset"), self.block_size)
        if rest:
            raise ValueError("offset %d is not a multiple of the block size %d"
                             % (offset, self.block_size))
        size = self._digest_size
        view = _lib.View()
        try:
            _lib.get_buffer(digests, view, 0)
            if not size or view.len % size:
                raise ValueError("%d bytes are not digests of %d bytes"
                                 % (view.len, size))
            run = _lib.Run(first, view.len // size, view.buf, size)
            if run.count > self._blocks - first:
                raise ValueError("%d blocks at %d are beyond the end of the "
                                 "image, which has %d bytes"
                                 % (run.count, offset, self.size))
            with self._handle as pointer:
                if run.count:
                    _lib.check(lib.blkhash_leaves_put_run(pointer, byref(run)))
        finally:
            _lib.release_buffer(view)

    def missing(self) -> List[Tuple[int, int]]:
        """The ranges that are missing, as a list of (offset, length)."""
        ranges: List[Tuple[int, int]] = []
        start, length = _lib.U64(), _lib.U64()
        end = 0
        with self._handle as pointer:
            while True:
                err = lib.blkhash_leaves_next_missing(
                    pointer, end, byref(start), byref(length))
                if err == errno.ENOENT:
                    return ranges
                _lib.check(err)
                first = start.value
                if ranges and end == first:
                    first = ranges.pop()[0]
                end = start.value + length.value
                ranges.append((first, end - first))

    def sum(self) -> bytes:
        """The digest of the image.  IncompleteError: bytes are missing.
        RuntimeError: another thread changes the table.  If Ctrl-C interrupts
        this call or write_manifest(), all bytes are missing afterwards."""
        return self._fold(lib.blkhash_leaves_fold)

    def write_manifest(
            self, path: Union[str, bytes, os.PathLike[Any]]) -> bytes:
        """Write the manifest of the image to the file at PATH; returns sum().

        The file gets its name when it is complete and synced.  It replaces a
        manifest, or an empty file.  FileExistsError: another file is there,
        which is not touched.  Only the owner can read the file."""
        try:
            return self._write(os.path.realpath(os.fsdecode(path)))
        except OSError as e:
            if e.errno is not None:     # else it is that of a signal's handler
                e.filename = os.fspath(path)    # instead of a temporary one
                del e.filename2
            raise

    def _write(self, real: str) -> bytes:
        directory = os.path.dirname(real)
        _manifest.check_replaced(real)
        fd, temporary = tempfile.mkstemp(".new", ".blkhash-", directory)

        def save(pointer: int, *digest: int) -> int:
            return int(lib.blkhash_leaves_save(pointer, copy.fileno(), *digest))

        try:
            try:
                # A thread can still write when signals have ended this call: it
                # has a descriptor of its own, whose number is not used again.
                copy = io.FileIO(os.dup(fd), "wb")
                digest = self._fold(save, copy)
                os.fsync(fd)
            finally:
                os.close(fd)
            _manifest.check_replaced(real)
            os.replace(temporary, real)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        sync_directory(directory)
        return digest

    def _check_range(self, offset: int, length: int) -> int:
        offset = _lib.check_int(offset, "offset")
        if length > self.size - offset:
            raise ValueError("%d bytes at %d are beyond the end of the image, "
                             "which has %d bytes" % (length, offset, self.size))
        return offset

    def _fold(self, function: Callable[..., int],
              used: ContextManager[Any] = nullcontext()) -> bytes:
        def fold() -> Tuple[int, bytes]:
            with used, self._handle as pointer:
                return _lib.get_digest(function, pointer)

        main = threading.current_thread() is threading.main_thread()
        err, digest = self._fold_in_thread(fold) \
            if main and self._blocks > _lib.ZERO_BLOCKS else fold()
        if err == errno.ENODATA:
            for start, length in self.missing():
                raise IncompleteError(start, length)
        if err in (errno.EBUSY, errno.ENODATA):
            raise RuntimeError("another thread changes the table")
        _lib.check(err)
        return digest

    def _fold_in_thread(
            self, fold: Callable[[], Tuple[int, bytes]]) -> Tuple[int, bytes]:
        """Long zeros can take weeks, in one call of C.  In the main thread a
        handler of a signal runs only if another thread makes the call; if it
        raises an exception, a change of the table ends the call."""
        from concurrent.futures import Future, wait
        future: Future[Tuple[int, bytes]] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fold())
                except BaseException as e:
                    future.set_exception(e)

        try:
            threading.Thread(target=run).start()
            # A signal that arrives just before the wait does not end it.
            while not future.done():
                wait([future], 0.1)
            return future.result()
        except BaseException:
            if not future.cancel():
                with self._handle as pointer:
                    lib.blkhash_leaves_forget(pointer, self.size, 0)
                wait([future])
            raise

    def close(self) -> None:
        """Free the memory.  RuntimeError: a thread is in a call."""
        self._handle.close()

    def __enter__(self) -> Leaves:
        return self

    def __exit__(self, *exception: object) -> None:
        # If a signal has interrupted a call, its exception is not replaced.
        with suppress(*[RuntimeError] if exception[0] else []):
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle blkhash.Leaves")

    def __repr__(self) -> str:
        return "<blkhash.Leaves %s, %d bytes>" % (self.spec, self.size)


def sync_directory(path: str) -> None:
    """So that a file in it keeps its name after a crash."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:     # may create files in it, but not read it
        return
    try:
        os.fsync(fd)
    except OSError as e:        # EINVAL: the file system does not do it
        if e.errno != errno.EINVAL:
            raise
    finally:
        os.close(fd)

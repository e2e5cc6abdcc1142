# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hash of an image that is read from its start to its end; sums as text."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from ctypes import byref
from typing import (TYPE_CHECKING, Any, FrozenSet, NamedTuple, NoReturn,
                    Optional)

from . import _lib
from ._lib import lib

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DEFAULT_SPEC = "sha256/64k"


class Hash:
    """The hash of an image that is read from its start to its end.  It is used
    like an object of hashlib, but

    - digest() ends it: the result is kept, so digest() and hexdigest() can be
      called again, but update() and zero() raise ValueError;
    - copy() raises ValueError.

    name         the spec, as new() takes it: "sha256/64k"
    digest_size  length of the digest, in bytes
    block_size   size of a block of the image, in bytes

    Several threads can use a hash: one call waits for the other.  After OSError
    or MemoryError, or if Ctrl-C interrupted a call, there is no digest, and all
    calls raise ValueError.  A forked child cannot use a hash of its parent:
    RuntimeError.
    """

    def __init__(self, spec: str = DEFAULT_SPEC, data: ReadableBuffer = b"", *,
                 threads: Optional[int] = None) -> None:
        pointer, parameters = _lib.create(spec, threads, lib.blkhash_new_opts)
        self._handle = _lib.Handle(pointer, lib.blkhash_free)
        self._tag = parameters.tag
        self.name = parameters.spec
        self.digest_size = parameters.digest_size
        self.block_size = parameters.block_size
        # The size of a slice must fit in size_t.
        self._zero_slice = min(_lib.ZERO_BLOCKS * self.block_size,
                               1 << 8 * ctypes.sizeof(ctypes.c_size_t) - 1)
        self._data_slice = _lib.data_slice(self.block_size)
        self._lock = threading.RLock()  # protects all below
        self._size = 0                  # bytes so far
        self._valid = True              # no call failed, or is in progress
        self._digest: Optional[bytes] = None
        self.update(data)

    def update(self, data: ReadableBuffer) -> None:
        """Append DATA, any bytes-like object.  BufferError: it is not
        contiguous."""
        view = _lib.View()
        self._handle.check_process()
        try:
            _lib.get_buffer(data, view, 0)
            with self._lock:
                pointer = self._begin(view.len)
                start = self._size
                for at, n in _lib.slices(start, view.len, self._data_slice):
                    err = lib.blkhash_update(pointer, view.buf + at - start, n)
                    if err:
                        raise _lib.error(err)
                self._end(view.len)
        finally:
            _lib.release_buffer(view)

    def zero(self, length: int) -> None:
        """Append LENGTH zero bytes, such as a hole.  A TiB takes about a third
        of a second, and more with small blocks."""
        length = _lib.check_int(length, "length")
        self._handle.check_process()
        with self._lock:
            pointer = self._begin(length)
            for _, n in _lib.slices(self._size, length, self._zero_slice):
                _lib.check(lib.blkhash_zero(pointer, n))
            self._end(length)

    def _begin(self, length: int = 0) -> Any:
        """Begin a call that appends LENGTH bytes.  The hash is not valid until
        _end(): C may have appended a part of them."""
        if self._digest is not None:
            raise ValueError("digest() has ended this hash")
        if not self._valid:
            raise ValueError("this hash has no digest: a call failed, was "
                             "interrupted, or is in progress")
        if length > _lib.MAX_SIZE - self._size:
            raise ValueError("the image would be larger than 2**64 - 1 bytes")
        self._valid = False
        return self._handle.pointer

    def _end(self, length: int) -> None:
        self._size += length
        self._valid = True

    def digest(self) -> bytes:
        """The digest of the image.  This ends the hash: update() and zero()
        raise ValueError from now on, and further calls return the same."""
        if self._digest is None:
            self._handle.check_process()
            with self._lock:
                if self._digest is None:
                    err, digest = _lib.get_digest(lib.blkhash_final,
                                                  self._begin())
                    _lib.check(err)
                    self._digest = digest
                    self._handle.close()
        return self._digest

    def hexdigest(self) -> str:
        """digest() in hexadecimal digits, as blksum prints it."""
        return self.digest().hex()

    def tag(self) -> str:
        """How the hash is computed, as "blksum --tag" prints it before a sum:
        "blk-sha256/64k"."""
        return self._tag

    def copy(self) -> NoReturn:
        """Not supported: raises ValueError."""
        raise ValueError("a blkhash cannot be copied")

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle a blkhash")

    def __repr__(self) -> str:
        return "<blkhash.Hash %s>" % self.name


def new(spec: str = DEFAULT_SPEC, data: ReadableBuffer = b"", *,
        threads: Optional[int] = None) -> Hash:
    """The Hash of an image whose first bytes are DATA.

    SPEC is what "blksum -d" takes: DIGEST[/SIZE[/sN|/linear]], where DIGEST is
    one of digests_available, and SIZE the block size, a power of two from 4 to
    16m, by default 64k: "sha256", "blake3/1m".  The digest "null", which is not
    in the list, computes nothing, for benchmarks.  THREADS (1 to 128) hash, by
    default as many as there are CPUs, at most 16; they do not change the
    digest."""
    return Hash(spec, data, threads=threads)


def _digests() -> FrozenSet[str]:
    names = (ctypes.c_char_p * lib.blkhash_digests(None, 0))()
    lib.blkhash_digests(names, len(names))
    return frozenset(name.decode() for name in names if name) - {"null"}


digests_available = _digests()


class Sum(NamedTuple):
    """What parse_sum() returns.

    spec    how it was computed: "sha256/64k"; None if the text does not say it
    digest  bytes
    name    of the image, or None
    """
    spec: Optional[str]
    digest: bytes
    name: Optional[str]


def parse_sum(text: str) -> Sum:
    """Parse one sum, in any form in which our programs print it: "HEX",
    "HEX  NAME", "blk-SPEC (NAME) = HEX", "blk-SPEC = HEX" or "blk-SPEC:HEX".
    Raises ValueError, with the reason, if TEXT is no sum, or more than one."""
    opts, name = ctypes.c_void_p(), ctypes.c_void_p()
    md, length = ctypes.create_string_buffer(_lib.MAX_MD_SIZE), ctypes.c_uint()
    reason = ctypes.create_string_buffer(_lib.MAX_REASON_SIZE)
    err = lib.blkhash_sum_parse(_lib.encode(text, "text"), byref(opts), md,
                                byref(length), byref(name), reason, len(reason))
    if err == errno.EINVAL:
        raise ValueError(reason.value.decode(errors="replace"))
    _lib.check(err)
    try:
        return Sum(_lib.Parameters(opts.value).spec if opts.value else None,
                   md.raw[:length.value],
                   os.fsdecode(ctypes.string_at(name.value)) if name.value
                   else None)
    finally:
        lib.blkhash_opts_free(opts)
        _lib.c_free(name)

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The C library, by ctypes: its functions, its errors, its objects; buffers.

ctypes converts without a check: 2**64 + 5 becomes 5, and a bytes with a NUL
ends there.  So every value of a user passes check_int or encode first.  The
GIL is released in each call of the library.
"""

from __future__ import annotations

import ctypes
import errno
import operator
import os
import threading
from ctypes import c_char_p, c_int, c_size_t, c_ssize_t, c_void_p
from typing import Any, Callable, Iterable, Iterator, Optional, Tuple

NAME = "libblkhash.so.0"
MAX_MD_SIZE = 64
MAX_TAG_SIZE = 64
MAX_REASON_SIZE = 160
MAX_SIZE = 2**64 - 1            # of an image, bytes
LEAVES_ONCE = 1
MANIFEST_NO_SUM = 1

# ---- Functions --------------------------------------------------------------

P, I, U = c_void_p, c_int, ctypes.c_uint
U8, U32, U64, SIZE = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, c_size_t

FUNCTIONS = {                   # the result, and the parameters
    "digests": (SIZE, P, SIZE),
    "opts_from_spec": (P, P),
    "opts_set_threads": (I, P, U8),
    "opts_get_tag": (I, P, P, SIZE),
    "opts_get_block_size": (U32, P),
    "opts_get_digest_size": (SIZE, P),
    "opts_free": (None, P),
    "sum_parse": (I, P, P, P, P, P, P, SIZE),
    "new_opts": (P, P),
    "update": (I, P, P, SIZE),
    "zero": (I, P, SIZE),
    "final": (I, P, P, P),
    "free": (None, P),
    "leaves_new": (P, P, U64, U),
    "leaves_data": (I, P, P, SIZE, U64),
    "leaves_zero": (I, P, U64, U64),
    "leaves_forget": (I, P, U64, U64),
    "leaves_put_run": (I, P, P),
    "leaves_next_missing": (I, P, U64, P, P),
    "leaves_fold": (I, P, P, P),
    "leaves_save": (I, P, I, P, P),
    "leaves_free": (None, P),
    "manifest_reader_new": (P, I, U, P, SIZE),
    "manifest_reader_opts": (P, P),
    "manifest_reader_size": (U64, P),
    "manifest_reader_is_complete": (I, P),
    "manifest_reader_next": (I, P, P),
    "manifest_reader_sum": (I, P, P, P),
    "manifest_reader_error": (c_char_p, P),
    "manifest_reader_free": (None, P),
    "manifest_differ_new": (P, P, P),
    "manifest_differ_next": (I, P, P, P),
    "manifest_differ_free": (None, P),
}


class Run(ctypes.Structure):
    """struct blkhash_manifest_run"""
    _fields_ = [("first", U64), ("count", U64), ("leaves", P),
                ("leaf_size", SIZE), ("reserved", U64 * 4)]


def load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(NAME, use_errno=True)
    except OSError as e:
        raise ImportError("blkhash needs the C library %s: %s; if it is "
                          "installed, run ldconfig, or set LD_LIBRARY_PATH"
                          % (NAME, e), name="blkhash") from None
    for name, (result, *parameters) in FUNCTIONS.items():
        function = getattr(library, "blkhash_" + name, None)
        if function is None:
            raise ImportError("%s is too old for this module, or another "
                              "library of this name: it has no blkhash_%s"
                              % (NAME, name), name="blkhash")
        function.restype, function.argtypes = result, parameters
    return library


lib = load()
c_free = ctypes.CFUNCTYPE(None, P)(("free", ctypes.CDLL(None)))

# ---- Values and errors ------------------------------------------------------


def check_int(value: Any, what: str, most: int = MAX_SIZE,
              least: int = 0) -> int:
    """VALUE as an int; TypeError or ValueError, which call it WHAT."""
    if type(value) is int and least <= value <= most:
        return value            # the fast case
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError("%s must be an int, not %s"
                        % (what, type(value).__name__))
    number = operator.index(value)
    if not least <= number <= most:
        raise ValueError("%s must be from %d to %d, not %d"
                         % (what, least, most, number))
    return number


def encode(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError("%s must be a str, not %s"
                        % (what, type(text).__name__))
    if "\0" in text:
        raise ValueError("%s has a NUL" % what)
    return os.fsencode(text)


def error(err: int, text: str = "") -> Exception:
    """The exception for the errno value ERR of the library."""
    if err == errno.ENOMEM:
        return MemoryError()
    return OSError(err, text or os.strerror(err))


def check(err: int) -> None:
    if err:
        raise error(err)


def get_digest(function: Callable[..., int],
               *arguments: int) -> Tuple[int, bytes]:
    """Call FUNCTION, whose last parameters are MD and LEN; returns its error
    and the digest."""
    md, length = ctypes.create_string_buffer(MAX_MD_SIZE), U()
    err = function(*arguments, md, ctypes.byref(length))
    return err, md.raw[:length.value]


class Parameters:
    """What struct blkhash_opts says."""

    def __init__(self, opts: int) -> None:
        tag = ctypes.create_string_buffer(MAX_TAG_SIZE)
        check(lib.blkhash_opts_get_tag(opts, tag, len(tag)))
        self.tag = tag.value.decode()
        self.spec = self.tag[len("blk-"):]
        self.block_size: int = lib.blkhash_opts_get_block_size(opts)
        self.digest_size: int = lib.blkhash_opts_get_digest_size(opts)


def create(spec: str, threads: Optional[int],
           constructor: Callable[..., Optional[int]],
           *arguments: int) -> Tuple[int, Parameters]:
    """Call CONSTRUCTOR with the options of SPEC and ARGUMENTS."""
    opts = lib.blkhash_opts_from_spec(encode(spec, "spec"))
    try:
        if opts and threads is not None:
            check(lib.blkhash_opts_set_threads(
                opts, check_int(threads, "threads", 128, 1)))
        pointer = constructor(opts, *arguments) if opts else None
        if pointer:
            return pointer, Parameters(opts)
        err = ctypes.get_errno()
        raise ValueError(
            "no such hash here: %r; it is DIGEST[/SIZE[/sN|/linear]], with one "
            "of digests_available, the block size a power of two from 4 to 16m,"
            " and N from 1 to 1024" % spec) \
            if err == errno.EINVAL else error(err)
    finally:
        lib.blkhash_opts_free(opts)


# ---- Buffers ----------------------------------------------------------------


class View(ctypes.Structure):
    """Py_buffer.  While it is held, a bytearray cannot change its size."""
    _fields_ = [("buf", P), ("obj", P), ("len", c_ssize_t),
                ("itemsize", c_ssize_t), ("readonly", I), ("ndim", I),
                ("format", P), ("shape", P), ("strides", P), ("suboffsets", P),
                ("internal", P)]


# Functions of our own: the attributes of ctypes.pythonapi are shared, and
# another module could set other types.  get_buffer raises TypeError if the
# object has no bytes, and BufferError if they are not contiguous.
# release_buffer does nothing if there is no buffer in the view.
get_buffer = ctypes.PYFUNCTYPE(I, ctypes.py_object, ctypes.POINTER(View), I)(
    ("PyObject_GetBuffer", ctypes.pythonapi))
release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(View))(
    ("PyBuffer_Release", ctypes.pythonapi))


def slices(start: int, length: int, size: int) -> Iterable[Tuple[int, int]]:
    """Cut LENGTH bytes at START at multiples of SIZE: (start, length) of each.
    A signal handler of Python runs between two calls of C, so none may take
    long."""
    if 0 < length <= size - start % size:
        return ((start, length),)
    return cut(start, start + length, size)


def cut(start: int, end: int, size: int) -> Iterator[Tuple[int, int]]:
    while start < end:
        n = min(size - start % size, end - start)
        yield start, n
        start += n


def data_slice(block_size: int) -> int:
    """As many bytes as C hashes at once, and at least 64 MiB."""
    return max(2**26, 32 * block_size)


ZERO_BLOCKS = 2**20             # take some 20 ms

# ---- Objects ----------------------------------------------------------------

forks = 0                       # between the first process and this one


def _forked() -> None:
    global forks
    forks += 1


os.register_at_fork(after_in_child=_forked)


class Handle:
    """Owns a pointer of the library, which is freed by close(), or at the end.
    During "with handle as pointer" it is not freed.

    In a forked child nothing is called or freed: threads and the owners of
    locks are missing there.  The lock is reentrant, because the handler of a
    signal can use the object, too."""

    def __init__(self, pointer: int, free: Callable[[int], object]) -> None:
        self.pointer: Optional[int] = pointer
        self._free = free
        self._forks = forks
        self._calls = 0         # in progress; protected by the lock
        self._lock = threading.RLock()

    def check_process(self) -> None:
        if self._forks != forks:
            raise RuntimeError("a forked child cannot use an object of its "
                               "parent; create it after the fork")

    def __enter__(self) -> int:
        if self._forks != forks:
            self.check_process()
        with self._lock:
            if self.pointer is None:
                raise ValueError("the object is closed")
            self._calls += 1
            return self.pointer

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._calls -= 1

    def close(self) -> None:
        """Free the pointer; RuntimeError during a call."""
        if self._forks != forks:
            return
        with self._lock:
            if self._calls:
                raise RuntimeError("cannot close the object during a call")
            pointer, self.pointer = self.pointer, None
        if pointer is not None:
            self._free(pointer)

    def __del__(self) -> None:
        if self.pointer is not None and self._forks == forks:
            self._free(self.pointer)

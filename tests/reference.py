#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hash of libblkhash, implemented independently as a reference.

Written from blkhash-format(7) and from the specifications of the digests; it
shares no code with the library.  Digests come from hashlib.  Those that hashlib
lacks are implemented below: BLAKE3, and XXH64 and XXH3-128 unless
python3-xxhash is installed.  They are about a thousand times slower than C, so
use small images.

As a module:   reference.blkhash(image, digest, block_size, streams, linear)
As a command:  reference.py [-d NAME] [-b SIZE] [-s STREAMS|--linear] [FILE|-]

lib/test-reference.sh checks this file against published vectors.
"""

import errno
import hashlib
import os
import struct
import sys

try:
    import xxhash
except ImportError:
    xxhash = None

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1


def rotl64(x, n):
    return (x << n | x >> (64 - n)) & M64


def words(data, offset, count):
    """COUNT 64-bit little-endian words of DATA."""
    return struct.unpack_from("<%dQ" % count, data, offset)


# ---- BLAKE3 ---------------------------------------------------------------

B3_IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
B3_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
B3_CHUNK_START, B3_CHUNK_END, B3_PARENT, B3_ROOT = 1, 2, 4, 8
B3_QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
               (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def b3_compress(cv, block, counter, flags):
    """The first half of the output of the compression: the chaining value."""
    m = struct.unpack("<16I", block.ljust(64, b"\0"))
    v = [*cv, *B3_IV[:4], counter & M32, counter >> 32, len(block), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(B3_QUARTERS):
            va, vb, vc, vd = v[a], v[b], v[c], v[d]
            va = (va + vb + m[2 * i]) & M32
            vd ^= va
            vd = (vd >> 16 | vd << 16) & M32
            vc = (vc + vd) & M32
            vb ^= vc
            vb = (vb >> 12 | vb << 20) & M32
            va = (va + vb + m[2 * i + 1]) & M32
            vd ^= va
            vd = (vd >> 8 | vd << 24) & M32
            vc = (vc + vd) & M32
            vb ^= vc
            vb = (vb >> 7 | vb << 25) & M32
            v[a], v[b], v[c], v[d] = va, vb, vc, vd
        m = [m[i] for i in B3_PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def b3_chunk(data, counter, root):
    cv = B3_IV
    last = max(0, (len(data) - 1) // 64)
    for i in range(last + 1):
        flags = B3_CHUNK_START if i == 0 else 0
        if i == last:
            flags |= B3_CHUNK_END | root
        cv = b3_compress(cv, data[64 * i:64 * i + 64], counter, flags)
    return cv


def b3_tree(data, counter, root):
    if len(data) <= 1024:
        return b3_chunk(data, counter, root)
    # The left subtree is the largest full one that leaves a right one.
    left = 1024
    while 2 * left < len(data):
        left *= 2
    children = (b3_tree(data[:left], counter, 0) +
                b3_tree(data[left:], counter + left // 1024, 0))
    return b3_compress(B3_IV, struct.pack("<16I", *children), 0,
                       B3_PARENT | root)


def blake3(data):
    return struct.pack("<8I", *b3_tree(data, 0, B3_ROOT))


# ---- XXH64 and XXH3-128, seed 0, default secret ---------------------------

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
P64_3, P64_4 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63
P64_5 = 0x27D4EB2F165667C5
PMX1, PMX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def xxh64_avalanche(x):
    x ^= x >> 33
    x = x * P64_2 & M64
    x ^= x >> 29
    x = x * P64_3 & M64
    return x ^ x >> 32


def xxh64_round(acc, lane):
    return rotl64((acc + lane * P64_2) & M64, 31) * P64_1 & M64


def xxh64(data):
    pos = len(data) // 32 * 32
    if pos:
        acc = [(P64_1 + P64_2) & M64, P64_2, 0, -P64_1 & M64]
        for i in range(0, pos, 32):
            acc = [xxh64_round(a, w) for a, w in zip(acc, words(data, i, 4))]
        h = sum(rotl64(a, n) for a, n in zip(acc, (1, 7, 12, 18)))
        for a in acc:
            h = ((h ^ xxh64_round(0, a)) * P64_1 + P64_4) & M64
    else:
        h = P64_5
    h = (h + len(data)) & M64
    while pos + 8 <= len(data):
        h ^= xxh64_round(0, *words(data, pos, 1))
        h = (rotl64(h, 27) * P64_1 + P64_4) & M64
        pos += 8
    if pos + 4 <= len(data):
        h ^= struct.unpack_from("<I", data, pos)[0] * P64_1 & M64
        h = (rotl64(h, 23) * P64_2 + P64_3) & M64
        pos += 4
    for byte in data[pos:]:
        h = rotl64(h ^ byte * P64_5 & M64, 11) * P64_1 & M64
    return xxh64_avalanche(h).to_bytes(8, "big")


def xxh3_avalanche(x):
    x = (x ^ x >> 37) * PMX1 & M64
    return x ^ x >> 32


def fold128(a, b):
    product = a * b
    return product & M64 ^ product >> 64


def bswap(x, size):
    return int.from_bytes(x.to_bytes(size, "little"), "big")


def xxh3_0(data):
    s = words(SECRET, 64, 4)
    return xxh64_avalanche(s[0] ^ s[1]), xxh64_avalanche(s[2] ^ s[3])


def xxh3_1_to_3(data):
    n = len(data)
    combined = data[-1] | n << 8 | data[0] << 16 | data[n >> 1] << 24
    swapped = bswap(combined, 4)
    swapped = (swapped << 13 | swapped >> 19) & M32
    s = struct.unpack_from("<4I", SECRET)
    return (xxh64_avalanche(s[0] ^ s[1] ^ combined),
            xxh64_avalanche(s[2] ^ s[3] ^ swapped))


def xxh3_4_to_8(data):
    first, = struct.unpack_from("<I", data)
    last, = struct.unpack_from("<I", data, len(data) - 4)
    s = words(SECRET, 16, 2)
    product = (s[0] ^ s[1] ^ (first | last << 32)) * (P64_1 + len(data) * 4)
    low, high = product & M64, product >> 64
    high = (high + (low << 1)) & M64
    low ^= high >> 3
    low = (low ^ low >> 35) * PMX2 & M64
    return low ^ low >> 28, xxh3_avalanche(high)


def xxh3_9_to_16(data):
    n = len(data)
    first, = words(data, 0, 1)
    last, = words(data, n - 8, 1)
    s = words(SECRET, 32, 4)
    product = (s[0] ^ s[1] ^ first ^ last) * P64_1
    mixed = s[2] ^ s[3] ^ last
    low = (product + ((n - 1) << 54)) & M64
    high = ((product >> 64) + mixed + (mixed & M32) * (P32_2 - 1)) & M64
    product = (low ^ bswap(high, 8)) * P64_2
    high = ((product >> 64) + high * P64_2) & M64
    return xxh3_avalanche(product & M64), xxh3_avalanche(high)


def xxh3_mix(acc, data, at1, at2, at_secret):
    """Mix 16 bytes at AT1 and 16 at AT2 into two accumulators."""
    d = words(data, at1, 2) + words(data, at2, 2)
    s = words(SECRET, at_secret, 4)
    acc[0] = (acc[0] + fold128(d[0] ^ s[0], d[1] ^ s[1])) & M64
    acc[1] = (acc[1] + fold128(d[2] ^ s[2], d[3] ^ s[3])) & M64
    acc[0] ^= (d[2] + d[3]) & M64
    acc[1] ^= (d[0] + d[1]) & M64


def xxh3_17_to_240(data):
    n = len(data)
    acc = [n * P64_1 & M64, 0]
    if n <= 128:
        for i in reversed(range((n - 1) // 32 + 1)):
            xxh3_mix(acc, data, 16 * i, n - 16 * i - 16, 32 * i)
    else:
        for i in range(4):
            xxh3_mix(acc, data, 32 * i, 32 * i + 16, 32 * i)
        acc = [xxh3_avalanche(a) for a in acc]
        for i in range(4, n // 32):
            xxh3_mix(acc, data, 32 * i, 32 * i + 16, 32 * (i - 4) + 3)
        xxh3_mix(acc, data, n - 16, n - 32, 103)
    high = (acc[0] * P64_1 + acc[1] * P64_4 + n * P64_2) & M64
    return (xxh3_avalanche((acc[0] + acc[1]) & M64),
            -xxh3_avalanche(high) & M64)


def xxh3_accumulate(acc, data, at, at_secret):
    d = words(data, at, 8)
    s = words(SECRET, at_secret, 8)
    keyed = [x ^ y for x, y in zip(d, s)]
    return [(a + d[i ^ 1] + (keyed[i] & M32) * (keyed[i] >> 32)) & M64
            for i, a in enumerate(acc)]


def xxh3_merge(acc, initial, at_secret):
    s = words(SECRET, at_secret, 8)
    for i in range(0, 8, 2):
        initial += fold128(acc[i] ^ s[i], acc[i + 1] ^ s[i + 1])
    return xxh3_avalanche(initial & M64)


def xxh3_long(data):
    n = len(data)
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    scramble = words(SECRET, 128, 8)
    stripes = (n - 1) // 64
    for i in range(stripes):
        acc = xxh3_accumulate(acc, data, 64 * i, i % 16 * 8)
        # The last stripes, at most 1024 bytes, are not scrambled.
        if i % 16 == 15 and n > 64 * (i + 1):
            acc = [(a ^ a >> 47 ^ s) * P32_1 & M64
                   for a, s in zip(acc, scramble)]
    acc = xxh3_accumulate(acc, data, n - 64, 192 - 71)
    return (xxh3_merge(acc, n * P64_1 & M64, 11),
            xxh3_merge(acc, ~(n * P64_2) & M64, 192 - 75))


def xxh3_128(data):
    for longest, function in ((0, xxh3_0), (3, xxh3_1_to_3), (8, xxh3_4_to_8),
                              (16, xxh3_9_to_16), (240, xxh3_17_to_240)):
        if len(data) <= longest:
            break
    else:
        function = xxh3_long
    low, high = function(data)
    return (high << 64 | low).to_bytes(16, "big")


# ---- Digests by name ------------------------------------------------------
# A digest is an object with update() and digest(), as in hashlib.


class Whole:
    """One of our digests, which needs the whole message."""

    def __init__(self, function):
        self.function = function
        self.message = bytearray()

    def update(self, data):
        self.message += data

    def digest(self):
        return self.function(bytes(self.message))


class Null:
    """The digest of length 0."""

    def update(self, data):
        pass

    def digest(self):
        return b""


class Shake:
    """SHAKE has no fixed length; we use those of OpenSSL < 3.4."""

    def __init__(self, impl, size):
        self.impl = impl
        self.size = size
        self.update = impl.update

    def digest(self):
        return self.impl.digest(self.size)


class Md5Sha1:
    def __init__(self):
        self.parts = hashlib.md5(), hashlib.sha1()

    def update(self, data):
        for part in self.parts:
            part.update(data)

    def digest(self):
        return b"".join(part.digest() for part in self.parts)


DIGESTS = {
    "blake2b-256": lambda: hashlib.blake2b(digest_size=32),
    "blake2b512": hashlib.blake2b,
    "blake2s256": hashlib.blake2s,
    "blake3": lambda: Whole(blake3),
    "md5-sha1": Md5Sha1,
    "null": Null,
    "shake128": lambda: Shake(hashlib.shake_128(), 16),
    "shake256": lambda: Shake(hashlib.shake_256(), 32),
    "xxh3-128": xxhash.xxh3_128 if xxhash else lambda: Whole(xxh3_128),
    "xxh64": xxhash.xxh64 if xxhash else lambda: Whole(xxh64),
}

# Digests that are computed in Python here: use small images.
SLOW = {"blake3"} if xxhash else {"blake3", "xxh3-128", "xxh64"}


def new(name):
    """A digest object; ValueError if this Python has no such digest."""
    name = name.lower()
    if name in DIGESTS:
        return DIGESTS[name]()
    # OpenSSL's sha3-256 and sha512-256 are sha3_256 and sha512_256 in hashlib.
    for spelling in name.replace("-", "_"), name:
        try:
            return hashlib.new(spelling)
        except ValueError:
            pass
    raise ValueError("no digest %s in this Python" % name)


# ---- The construction -----------------------------------------------------

BATCH = 4096                    # leaves in one update of the outer hash


def cut(segments, block_size):
    """Divide segments into blocks.  A segment is bytes, or a number of zero
    bytes.

    Yields (block, 1), and (None, count) for COUNT whole blocks of a hole."""
    pending = bytearray()       # shorter than a block
    for segment in segments:
        if isinstance(segment, int):
            if pending:
                fill = min(segment, block_size - len(pending))
                pending += bytes(fill)
                segment -= fill
                if len(pending) < block_size:
                    continue
                yield bytes(pending), 1
            if segment >= block_size:
                yield None, segment // block_size
            pending = bytearray(segment % block_size)
        else:
            pending += segment
            whole = len(pending) // block_size * block_size
            for i in range(0, whole, block_size):
                yield bytes(pending[i:i + block_size]), 1
            del pending[:whole]
    if pending:
        yield bytes(pending), 1


def update_repeated(outer, leaf, count):
    batch = leaf * min(count, BATCH)
    while count >= BATCH:
        outer.update(batch)
        count -= BATCH
    outer.update(leaf * count)


def counted(segments, total):
    """Yields the same segments; total[0] becomes the sum of their lengths."""
    for segment in segments:
        total[0] += segment if isinstance(segment, int) else len(segment)
        yield segment


def blkhash(image, digest="sha256", block_size=65536, streams=0,
            linear=False):
    """The hash of IMAGE in hex.

    IMAGE is bytes, or an iterable of segments, each of them bytes or the length
    of a hole.  STREAMS is 0 for the flat construction, and for the linear one,
    which is flat without the length."""

    def H(message):
        d = new(digest)
        d.update(message)
        return d.digest()

    if isinstance(image, (bytes, bytearray, memoryview)):
        image = [image]
    total = [0]
    zero_leaf = None            # b"" is the leaf of null
    outers = [new(digest) for _ in range(streams or 1)]
    index = 0
    for block, count in cut(counted(image, total), block_size):
        if block is not None:
            outers[index % len(outers)].update(H(block))
        else:
            if zero_leaf is None:
                zero_leaf = H(bytes(block_size))
            for k in range(min(count, len(outers))):
                # Blocks index + k, index + k + S, index + k + 2S, ...
                share = (count - k - 1) // len(outers) + 1
                update_repeated(outers[(index + k) % len(outers)], zero_leaf,
                                share)
        index += count
    if streams == 0:
        if not linear:
            outers[0].update(struct.pack("<Q", total[0]))
        return outers[0].digest().hex()
    return H(b"".join(outer.digest() for outer in outers)).hex()


# ---- The command ----------------------------------------------------------


def read_to(fd, end):
    """The bytes from the current offset to END, or to the end of file."""
    pos = 0 if end is None else os.lseek(fd, 0, os.SEEK_CUR)
    while end is None or pos < end:
        data = os.read(fd, 1 << 20 if end is None else min(1 << 20, end - pos))
        if not data:
            return
        pos += len(data)
        yield data


def file_segments(fd):
    """The segments of an open file, from its current offset on; holes by
    SEEK_DATA if the file supports that."""
    try:
        pos = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, os.lseek(fd, pos, os.SEEK_HOLE), os.SEEK_SET)
        os.lseek(fd, pos, os.SEEK_SET)
    except OSError as e:
        if e.errno == errno.ENXIO:      # at or after the end
            return
        # A pipe, or a device that does not report holes.
        yield from read_to(fd, None)
        return
    end = os.fstat(fd).st_size
    while pos < end:
        try:
            data = os.lseek(fd, pos, os.SEEK_DATA)
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            data = end                  # a hole to the end
        if data > pos:
            yield data - pos
        if data == end:
            return
        pos = os.lseek(fd, data, os.SEEK_HOLE)
        os.lseek(fd, data, os.SEEK_SET)
        yield from read_to(fd, pos)


def size_argument(text):
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    unit = units.get(text[-1:].lower())
    return int(text[:-1]) * unit if unit else int(text)


def main():
    # argparse takes longer to load than most images take to hash.
    names = {"-d": "--digest", "-b": "--block-size", "-s": "--streams"}
    values = {"--digest": "sha256", "--block-size": "64k", "--streams": "0"}
    linear, file = False, "-"
    args = iter(sys.argv[1:])
    for arg in args:
        if names.get(arg, arg) in values:
            values[names.get(arg, arg)] = next(args)
        elif arg == "--linear":
            linear = True
        elif arg[:1] != "-" or arg == "-":
            file = arg
        else:
            sys.exit("reference.py: unknown option " + arg)
    fd = 0 if file == "-" else os.open(file, os.O_RDONLY)
    print(blkhash(file_segments(fd), values["--digest"],
                  size_argument(values["--block-size"]),
                  int(values["--streams"]), linear))


if __name__ == "__main__":
    sys.exit(main())

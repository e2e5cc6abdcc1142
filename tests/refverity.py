#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hash device of dm-verity and the digest of fs-verity, as a reference for
blkhash export: written from the documentation of the kernel and of veritysetup.

    refverity.py verity|tree|descriptor [DIGEST] FILE   on standard output
    refverity.py root|digest [DIGEST] FILE              in hexadecimal digits
    refverity.py zeros DIGEST BLOCKS                    the root of blocks of zeros
"""

import hashlib
import struct
import sys

BLOCK = 4096


def levels_of(content, digest):
    """The hash blocks of all levels, the lowest first, and the root."""
    def hash_of(block):
        return hashlib.new(digest, block).digest()

    hashes = [hash_of(content[at:at + BLOCK].ljust(BLOCK, b"\0"))
              for at in range(0, len(content), BLOCK)]
    per_block = BLOCK // hashlib.new(digest).digest_size
    levels = []
    while len(hashes) > 1:
        blocks = [b"".join(hashes[at:at + per_block]).ljust(BLOCK, b"\0")
                  for at in range(0, len(hashes), per_block)]
        levels.append(b"".join(blocks))
        hashes = [hash_of(block) for block in blocks]
    return levels, hashes[0] if hashes else bytes(hashlib.new(digest).digest_size)


def root(content, digest="sha256"):
    return levels_of(content, digest)[1]


def tree(content, digest="sha256"):
    return b"".join(reversed(levels_of(content, digest)[0]))


def verity(content, digest="sha256", uuid=bytes(16)):
    """The hash device with its superblock, without salt."""
    superblock = struct.pack("<8sII16s32sIIQH", b"verity", 1, 1, uuid,
                             digest.encode(), BLOCK, BLOCK,
                             len(content) // BLOCK, 0)
    return superblock.ljust(BLOCK, b"\0") + tree(content, digest)


def descriptor(content, digest="sha256"):
    """That of fs-verity, without salt and signature."""
    return struct.pack("<BBBBIQ64s32s144s", 1, {"sha256": 1, "sha512": 2}[digest],
                       12, 0, 0, len(content), root(content, digest), b"", b"")


def fsverity(content, digest="sha256"):
    return hashlib.new(digest, descriptor(content, digest)).hexdigest()


def root_of_zeros(blocks, digest):
    """Of BLOCKS blocks, of which all are equal, so that a level has at most two
    different hash blocks: the first ones, and the last one."""
    def hash_of(block):
        return hashlib.new(digest, block).digest()

    per_block = BLOCK // hashlib.new(digest).digest_size
    first = last = hash_of(bytes(BLOCK))
    while blocks > 1:
        in_last = (blocks - 1) % per_block + 1
        last = hash_of((first * (in_last - 1) + last).ljust(BLOCK, b"\0"))
        first = hash_of(first * per_block)
        blocks = (blocks - 1) // per_block + 1
    return last


def main():
    what, *digest, name = sys.argv[1:]
    if what == "zeros":
        print(root_of_zeros(int(name, 0), *digest).hex())
        return
    with open(name, "rb") as f:
        content = f.read()
    made = {"verity": verity, "tree": tree, "descriptor": descriptor,
            "root": root, "digest": fsverity}[what](content, *digest)
    if what == "root":
        print(made.hex())
    elif what == "digest":
        print(made)
    else:
        sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()

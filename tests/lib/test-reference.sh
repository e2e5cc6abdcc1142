#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Compares reference.py with published vectors: all other tests compare with it,
# so it must be right.  BLKHASH_SLOW=1 adds the known answers for 100 GiB and
# 100 TiB, which take some minutes.

. "$(dirname "$0")/../functions.sh"

requires_program "$PYTHON"

"$PYTHON" - <<'END'
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

import reference

failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print("FAIL: %s\n  expected %s\n  got      %s" % (what, expected, got))


def counting(n):
    """The input of the test vectors of BLAKE3."""
    return bytes(i % 251 for i in range(n))


# BLAKE3's test_vectors.json, the first 32 bytes of "hash".
for n, expected in (
    (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
    (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
    (1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"),
    (1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
    (1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
    (2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"),
    (2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"),
    (3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"),
    (4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995"),
    (7169, "a003fc7a51754a9b3c7fae0367ab3d782dccf28855a03d435f8cfe74605e7817"),
):
    check("blake3 of %d bytes" % n, expected,
          reference.blake3(counting(n)).hex())

# Printed by xxhsum 0.8.1 of xxHash's authors, with -H1 and -H2.
for n, xxh64, xxh3 in (
    (0, "ef46db3751d8e999", "99aa06d3014798d86001c324468d497f"),
    (1, "e934a84adb052768", "a6cd5e9392000f6ac44bdff4074eecdb"),
    (3, "e5c7bb4533bc65dd", "e3b55f57945a17cf5f4299fc161c9cbb"),
    (4, "ffced8604453cc1e", "eb70bf5fc779e9e6a6111d53e80a3db5"),
    (8, "884a173614b81b8d", "e1e4432a62217fe4cfd50c61c8bb98c1"),
    (9, "67d85784a7c78c5b", "16c769d83e4aebce907931979dca3746"),
    (16, "44b6ef2fb84169f7", "72950631827607e2842812cc870dcae2"),
    (17, "5603e60c527599b6", "685bc458b37d057fc06e233df7729217"),
    (31, "c346d2b59b4d8ee1", "4ed3946d393b687bb54de3993874ed20"),
    (32, "cbf59c5116ff32b4", "25e7c9b3424ceed2457d9566b6fcd697"),
    (33, "0c535d1acafb8ead", "02175c3aabb00637e08d84951339de86"),
    (128, "7a7fe14647b9ab92", "14792fc3af88dc6c05321a0b64d67b41"),
    (129, "0ba25dfd6e891fcf", "dd5e74ac6b45f54ebc30b63382b09a3b"),
    (240, "012947f0da6a27b1", "65b5be86da5540e7c92b68e16f83bbb6"),
    (241, "8d643f23bf2808e1", "1da1cb61bcb8a2a102e8cd95421c6d02"),
    (1024, "138e26c65048ce29", "d0ac1f7b93bf57b9e5d78bafa45b2aa5"),
    (1025, "cfd73aedd2d6a39d", "2882ebca04ec915ce95c42288f28186e"),
    (1088, "fa3e9309ff1f4ac3", "295519bc52981c5c1a848d807034c403"),
    (4096, "122a8c8d994ad3ec", "e12cd72144990fe57135ffa504f1bc71"),
):
    check("xxh64 of %d bytes" % n, xxh64, reference.xxh64(counting(n)).hex())
    check("xxh3-128 of %d bytes" % n, xxh3,
          reference.xxh3_128(counting(n)).hex())


# Digests by our names: vectors of FIPS 180 and 202, RFC 7693, GB/T 32905 and
# others.
for name, message, expected in (
    ("sha256", b"abc",
     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ("sha512-256", b"abc",
     "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ("sha3-256", b"abc",
     "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
    ("shake128", b"", "7f9c2ba4e88f827d616045507605853e"),
    ("shake256", b"",
     "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f"),
    ("blake2b512", b"abc",
     "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
     "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"),
    ("blake2s256", b"abc",
     "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
    ("blake2b-256", b"abc",
     "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
    ("sm3", b"abc",
     "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"),
    ("ripemd160", b"abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
    ("md5-sha1", b"abc", "900150983cd24fb0d6963f7d28e17f72"
     "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("null", b"abc", ""),
):
    try:
        d = reference.new(name)
    except ValueError as e:
        print("note: %s" % e)
        continue
    d.update(message)
    check("%s of %r" % (name, message), expected, d.digest().hex())

# All implementations of a digest agree: ours, modules, and installed programs.
for name, function, program in (
    ("blake3", reference.blake3, ["b3sum", "--no-names"]),
    ("xxh64", reference.xxh64, ["xxhsum", "-q", "-H1"]),
    ("xxh3-128", reference.xxh3_128, ["xxhsum", "-q", "-H2"]),
):
    for n in [*range(260), 1023, 1024, 1025, 1087, 1088, 1089, 4096, 20000]:
        d = reference.new(name)
        d.update(counting(n))
        check("%s of %d bytes, by name" % (name, n),
              function(counting(n)).hex(), d.digest().hex())
    if not shutil.which(program[0]):
        print("note: %s not compared with %s, which is not here"
              % (name, program[0]))
        continue
    for n in (0, 1, 5, 13, 33, 64, 65, 100, 200, 300, 1024, 1056, 5000, 30000):
        out = subprocess.run(program, input=counting(n), check=True,
                             stdout=subprocess.PIPE).stdout
        check("%s of %d bytes" % (" ".join(program), n),
              out.split()[0].decode(), function(counting(n)).hex())

# The known answers of the construction.
check("empty",
      "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc",
      reference.blkhash(b""))
check("hello",
      "337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6",
      reference.blkhash(b"hello"))
check("hello, md5", "f741ac9ce55f5325906bb14e9c05d467",
      reference.blkhash(b"hello", "md5"))
check("empty, linear", hashlib.sha256().hexdigest(),
      reference.blkhash(b"", linear=True))
check("hello, linear",
      hashlib.sha256(hashlib.sha256(b"hello").digest()).hexdigest(),
      reference.blkhash(b"hello", linear=True))
check("1 MiB of 0x55, 64 streams",
      "2a6d5ed17da97865da0fd3ca9a792f3bfaf325940c44fd6a2f0a224a051eb6f0",
      reference.blkhash(b"\x55" * (1 << 20), streams=64))
if os.environ.get("BLKHASH_SLOW", "0") not in ("", "0"):
    check("100 GiB of 0x55, 64 streams",
          "691f0b9dfbcb944b91ad23bac4ea17db82f336b0aa47cec3b6890ee4a39375b6",
          reference.blkhash(itertools.repeat(b"\x55" * (1 << 20), 100 << 10),
                            streams=64))
    check("100 TiB hole, 64 streams",
          "659cfc90e33af01329e527444482f6b2afd01c827dc06724014b03a1e6583d39",
          reference.blkhash([100 << 40], streams=64))

# Holes and the division in segments do not change the hash: the formula has
# neither.


def formula(image, bs, streams, linear=False):
    def H(message):
        return hashlib.sha256(message).digest()
    leaves = [H(image[i:i + bs]) for i in range(0, len(image), bs)]
    if linear:
        return H(b"".join(leaves)).hex()
    if streams == 0:
        size = len(image).to_bytes(8, "little")
        return H(b"".join(leaves) + size).hex()
    return H(b"".join(H(b"".join(leaves[k::streams]))
                      for k in range(streams))).hex()


segments = [300, counting(5), 1, counting(64), 129, counting(500), 64, 1000]
image = b"".join(bytes(s) if isinstance(s, int) else s for s in segments)
for bs in 4, 64, 512, 4096:
    for streams in 0, 1, 3, 5, 64, 1024:
        what = "%d bytes, blocks of %d, %d streams" % (len(image), bs, streams)
        expected = formula(image, bs, streams)
        check(what, expected, reference.blkhash(image, "sha256", bs, streams))
        check(what + ", holes", expected,
              reference.blkhash(segments, "sha256", bs, streams))
    what = "%d bytes, blocks of %d, linear" % (len(image), bs)
    expected = formula(image, bs, 0, linear=True)
    check(what, expected,
          reference.blkhash(image, "sha256", bs, linear=True))
    check(what + ", holes", expected,
          reference.blkhash(segments, "sha256", bs, linear=True))

# The command reads a sparse file by name, from standard input and from a pipe.
with tempfile.NamedTemporaryFile() as f:
    f.truncate(1000001)
    for at in 0, 300000, 999990:
        f.seek(at)
        f.write(b"data")
    f.flush()
    f.seek(0)
    expected = formula(f.read(), 4096, 7)
    command = [sys.executable, reference.__file__, "-b", "4k", "-s", "7"]
    f.seek(0)
    for how, args in (("by name", {"args": command + [f.name]}),
                      ("as stdin", {"args": command, "stdin": f.fileno()}),
                      ("from a pipe", {"args": command + ["-"],
                                       "input": open(f.name, "rb").read()})):
        out = subprocess.run(**args, check=True, stdout=subprocess.PIPE).stdout
        check("a sparse file " + how, expected, out.decode().strip())

sys.exit(1 if failures else 0)
END

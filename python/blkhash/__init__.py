# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hash disk images fast: the sums of blksum, as easy as hashlib.

    import blkhash

    h = blkhash.new("sha256/64k")       # the image from its start to its end
    h.update(data)
    h.zero(length)                      # a hole
    print(h.hexdigest())

    t = blkhash.Leaves("sha256/64k", size)      # any order, any thread
    t.put(offset, data)
    t.write_manifest("disk.blkm")

    m = blkhash.Manifest("disk.blkm")   # verified
    for start, length in m.differences(blkhash.Manifest("yesterday.blkm")):
        print(start, length)

The C library libblkhash does the work, with the GIL released.  A block of zeros
costs almost nothing.  Lengths and offsets are in bytes.
"""

from ._hash import Hash, Sum, digests_available, new, parse_sum
from ._leaves import IncompleteError, Leaves
from ._manifest import Manifest, ManifestError, UnknownDifference

__version__ = "1.0.0"       # that of configure.ac; pyproject.toml reads it here

__all__ = ["new", "Hash", "Leaves", "Manifest", "Sum", "parse_sum",
           "digests_available", "IncompleteError", "ManifestError",
           "UnknownDifference"]

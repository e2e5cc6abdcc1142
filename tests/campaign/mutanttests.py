# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests that mutate.py runs for the mutants of a folder."""

import collections

# SOURCES is a pattern of the files that are mutated.  UNITS and MORE are
# patterns of the folders of unit tests, or of the beginning of their path: the
# first ones run first.  SCRIPTS are tests/test-NAME.sh.
Folder = collections.namedtuple("Folder", "sources units more scripts")

LIBRARY = "api", "random", "manifest"
MANIFEST = ("manifest", "blksum-damaged", "blksum-update", "blksum-check",
            "blksum-compare", "blkhash-parts", "filter-manifest")
FORMATS = ("blksum-formats", "blksum-qcow2", "blksum-qcow2-random",
           "blksum-qcow2-compressed", "blksum-qcow2-corrupt", "blksum-vhdx",
           "blksum-vmdk-crafted", "blksum-vpc", "blksum-truncated-formats",
           "fuzz")
FILTER = ("filter-campaign", "filter-errors", "filter-manifest",
          "filter-update", "filter-exports", "filter-parameters",
          "filter-result-file", "filter-cache", "filter-visibility")
VERIFY = ("verify", "verify-result", "verify-start", "verify-repair",
          "verify-campaign", "verify-repair-campaign")

OF_FILTER = "filter/(blkhash|common)/"
OF_VERIFY = "filter/verify/"

# The first folder that fits is that of a file.
FOLDERS = [
    Folder("lib/common/", ["lib/common/"], ["lib/.*", "tools/(util|image)/"],
           LIBRARY + ("blksum-check", "blksum-hash-options", "blksum-libnbd",
                      "blksum-names")),
    Folder("lib/construction/", ["lib/construction/", "lib/hash/"],
           ["lib/(digest|leaves|manifest)/"],
           LIBRARY + ("blksum-hash-options", "blksum-digests")),
    Folder("lib/digest/", ["lib/digest/", "lib/hash/"], ["lib/(?!lanes).*"],
           LIBRARY + ("blksum-hash-options", "blksum-digests")),
    Folder("lib/hash/", ["lib/hash/", "lib/construction/"],
           ["lib/(digest|leaves|manifest)/"],
           LIBRARY + ("blksum-hash-options", "blksum-operands")),
    Folder("lib/leaves/", ["lib/leaves/"],
           ["lib/(hash|manifest)/", OF_FILTER, "tools/job/"],
           LIBRARY + ("filter-pieces", "filter-campaign")),
    Folder("lib/manifest/", ["lib/manifest/"],
           ["tools/job/", "filter/blkhash/(?=test-update|test-manifest)"],
           MANIFEST),
    Folder("tools/job/(image|overlay)-runs", ["tools/job/"], ["tools/(read|util)/"],
           MANIFEST + ("blksum-matrix", "blksum-audit")),
    Folder("tools/format/", ["tools/format/"], [], FORMATS),
    Folder("filter/verify/", [OF_VERIFY], [], VERIFY),
    Folder("filter/common/", [OF_FILTER], [OF_VERIFY], FILTER + VERIFY),
    Folder("filter/blkhash/", [OF_FILTER], [], FILTER),
]

# What is built of each folder before its unit tests are linked.
LIBRARIES = {"lib": ("libcore.la", "libnbd-load.la"),
             "tools": ("libtools.la",), "filter": ("libfilter.la", "libverify.la")}

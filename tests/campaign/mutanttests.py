# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests that mutate.py runs for the mutants of a folder."""

import collections

# SOURCES is a pattern of the files that are mutated.  UNITS and MORE are
# patterns of the folders of unit tests, or of the beginning of their path: the
# first ones run first.  SCRIPTS are tests/NAME.sh.
Folder = collections.namedtuple("Folder", "sources units more scripts")

LIBRARY = "api/test-api", "lib/test-random", "lib/test-manifest"
MANIFEST = ("lib/test-manifest", "blksum/test-damaged", "blkhash/test-update",
            "blksum/test-check", "blkhash/test-compare", "blkhash/test-parts",
            "blksum/test-manifest-signals", "filter/test-manifest")
FORMATS = ("blksum/test-formats", "blksum/test-qcow2",
           "blksum/test-qcow2-random", "blksum/test-qcow2-compressed",
           "blksum/test-qcow2-corrupt", "blksum/test-vhdx",
           "blksum/test-vmdk-crafted", "blksum/test-vpc",
           "blksum/test-truncated-formats", "fuzz/test-fuzz",
           "campaign/test-call-faults")
FILTER = ("campaign/test-filter", "filter/test-errors", "filter/test-manifest",
          "filter/test-update", "filter/test-update-refused",
          "filter/test-exports", "filter/test-manifest-exports",
          "filter/test-manifest-file", "filter/test-not-ours",
          "filter/test-in-flight", "filter/test-last-pass",
          "filter/test-extents", "filter/test-trim", "filter/test-stale",
          "filter/test-manifest-stale", "filter/test-aliases",
          "filter/test-own-views", "filter/test-ending", "filter/test-tls",
          "filter/test-size-changed", "filter/test-lock",
          "filter/test-parameters", "filter/test-result-file",
          "filter/test-cache", "filter/test-visibility")
VERIFY = ("verify/test-verify", "verify/test-result", "verify/test-start",
          "verify/test-repair", "campaign/test-verify",
          "campaign/test-verify-repair")

OF_FILTER = "filter/(blkhash|common)/"
OF_VERIFY = "filter/verify/"

# The first folder that fits is that of a file.
FOLDERS = [
    Folder("lib/common/", ["lib/common/"], ["lib/.*", "tools/(util|image)/"],
           LIBRARY + ("blksum/test-check", "blksum/test-hash-options",
                      "blksum/test-libnbd", "blksum/test-names")),
    Folder("lib/construction/", ["lib/construction/", "lib/hash/"],
           ["lib/(digest|leaves|manifest)/"],
           LIBRARY + ("blksum/test-hash-options", "blksum/test-digests")),
    Folder("lib/digest/", ["lib/digest/", "lib/hash/"], ["lib/(?!lanes).*"],
           LIBRARY + ("blksum/test-hash-options", "blksum/test-digests")),
    Folder("lib/hash/", ["lib/hash/", "lib/construction/"],
           ["lib/(digest|leaves|manifest)/"],
           LIBRARY + ("blksum/test-hash-options", "blksum/test-operands")),
    Folder("lib/leaves/", ["lib/leaves/"],
           ["lib/(hash|manifest)/", OF_FILTER, "tools/job/"],
           LIBRARY + ("filter/test-pieces", "campaign/test-filter")),
    Folder("lib/manifest/", ["lib/manifest/"],
           ["tools/job/", "filter/blkhash/(?=test-export-update|test-manifest)"],
           MANIFEST),
    Folder("tools/job/(image|overlay)-runs", ["tools/job/"], ["tools/(read|util)/"],
           MANIFEST + ("blksum/test-matrix", "blkhash/test-audit")),
    Folder("tools/format/", ["tools/format/"], [], FORMATS),
    Folder("filter/verify/", [OF_VERIFY], [], VERIFY),
    Folder("filter/common/", [OF_FILTER], [OF_VERIFY], FILTER + VERIFY),
    Folder("filter/blkhash/", [OF_FILTER], [], FILTER),
]

# What is built of each folder before its unit tests are linked.
LIBRARIES = {"lib": ("libcore.la", "libcommon.la"),
             "tools": ("libtools.la",), "filter": ("libfilter.la", "libverify.la")}

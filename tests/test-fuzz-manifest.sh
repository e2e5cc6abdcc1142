#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The fuzz target of manifests takes each file of its corpus with some of its
# bytes changed.

. "$(dirname "$0")/functions.sh"

fuzz=$(real_program "$abs_top_builddir/tests/fuzz-manifest")
"$PYTHON" - "$abs_top_srcdir/tests/fuzz/manifest" "$dir" << 'END'
import os, random, sys
corpus, out = sys.argv[1:]
rng = random.Random(1)
for name in sorted(os.listdir(corpus)):
    with open(os.path.join(corpus, name), "rb") as f:
        data = f.read()
    for i in range(30):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.choice((rng.randrange(80),
                                rng.randrange(len(data))))] = \
                rng.choice((0, 1, 48, 57, 127, 128, 255))
        with open(os.path.join(out, "%s.%d" % (name, i)), "wb") as f:
            f.write(changed)
END
run 0 $wrapper "$fuzz" "$dir"/*.blkm.*

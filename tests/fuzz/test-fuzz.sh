#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each fuzz target processes its corpus, and each file of it with some bytes
# changed.

. "$(dirname "$0")/../functions.sh"

# Some corpora are in the source; those of images are made here.
corpora=$dir/corpora
mkdir "$corpora"
cp -r "$abs_top_srcdir"/tests/fuzz/*/ "$corpora"
"$PYTHON" "$abs_top_srcdir/tests/fuzz/make-seeds.py" "$corpora"

# takes_all FILE...: $program processes all of them.
takes_all () {
  run 0 $wrapper "$program" "$@"
  [ "$(cat "$dir/stdout")" = "$# inputs" ] ||
    fail "$program did not process all files"
}

# change CORPUS DIRECTORY: writes each file 25 times, with up to 3 bytes
# changed.
change () {
  mkdir "$2"
  "$PYTHON" - "$1" "$2" << 'END'
import os, random, sys
corpus, out = sys.argv[1:]
rng = random.Random(1)
for name in sorted(os.listdir(corpus)):
    with open(os.path.join(corpus, name), "rb") as f:
        data = f.read()
    for i in range(25 if data else 0):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            # Most fields of a header are in its first bytes.
            end = rng.choice((min(80, len(data)), len(data)))
            changed[rng.randrange(end)] = rng.choice((0, 1, 48, 57, 127, 128,
                                                      255))
        with open(os.path.join(out, "%s.%d" % (name, i)), "wb") as f:
            f.write(changed)
END
}

for source in "$abs_top_srcdir"/tests/fuzz/fuzz-*.c; do
  target=${source##*/}
  target=${target%.c}
  # "make check" has built it.
  program=$abs_top_builddir/tools/$target
  [ -e "$program" ] || program=$abs_top_builddir/tests/$target
  program=$(real_program "$program")
  [ -x "$program" ] || fail "$target was not built"
  corpus=$corpora/${target#fuzz-}
  [ -d "$corpus" ] || fail "$target has no corpus"
  takes_all "$corpus"/*
  change "$corpus" "$dir/changed"
  takes_all "$dir/changed"/*
  rm -r "$dir/changed"
done

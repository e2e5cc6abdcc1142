#!/bin/bash
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Coverage of lib, filter and tools, for "make coverage": the lines and branches that
# ran, of each folder, and the files in which fewer than 85 % of the lines did.  Before
# it, run the tests in a build of its own:
#
#     ../configure CFLAGS='-g -O0 --coverage -fprofile-update=atomic' LDFLAGS=--coverage
#     make && make -k check; make coverage
#
# Some tests fail in such a build: those of symbols, of files and of limits see what
# gcov adds.  Tests that limit the size of files set GCOV_PREFIX, because otherwise
# gcov damages its own files.  Kernels of which no line ran are left out, because this CPU lacks their
# instructions.
#
#     coverage.sh SRCDIR BUILDDIR

set -u -o pipefail

src=$1
cd "$2" || exit 2
command -v gcovr > /dev/null || { echo "coverage: gcovr is not installed"; exit 2; }

# Prints "FILE COUNT RAN" for the lines, or with -b for the branches, of a folder.
rows_of ()
{
  gcovr -r "$src" --object-directory "$1" -f "$src/$1/.*" -e '.*test-.*' \
    -e '.*fuzz-.*' --gcov-ignore-parse-errors "${@:2}" 2> /dev/null |
    awk '$4 ~ /%$/ && $1 != "TOTAL" && !($1 ~ /lib\/lanes\// && $3 == 0) { print $1, $2, $3 }'
}

for dir in lib filter tools; do
  for what in lines branches; do
    option=
    [ $what = lines ] || option=-b
    rows_of $dir $option | awk -v dir=$dir -v what=$what '
      { all += $2; ran += $3 }
      what == "lines" && $3 < .85 * $2 { low = low "  " $1 ": " $3 " of " $2 "\n" }
      END {
        if (!all) exit 1
        printf "%s: %.1f %% of %d %s\n%s", dir, 100 * ran / all, all, what, low
      }' || { echo "coverage: no data of $dir"; exit 1; }
  done
done

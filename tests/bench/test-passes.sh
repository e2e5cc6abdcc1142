#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The benchmark of passes of a migration, with a small disk: at the end the two
# manifests are those of the copy, all rows are printed, and nothing is left
# behind.  Nothing here looks at a speed.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
requires_nbdkit --filter=rate
requires_program nbdsh

ln -s "$PYTHON" "$dir/bin/python3" # which nbdsh runs
mkdir "$dir/disks"
for rate in "" "--rate 1G"; do
  run 0 "$PYTHON" "$abs_top_srcdir/tests/bench/bench-passes" \
    --build "$abs_top_builddir" --runs 3 --size 40 --data 10 --change 20 $rate \
    "$dir/disks"
  [ "$(grep -c ' ([0-9.-]* to [0-9.-]*) *[0-9.-]*$' "$dir/stdout")" = 8 ] ||
    fail "not 8 rows"
  [ -z "$(ls "$dir/disks")" ] || fail "left $(ls "$dir/disks")"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash export of random disks: see export-random.py, which reads BLKHASH_SEED and
# BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"

rounds 12 1000 100
"$PYTHON" "$abs_top_srcdir/tests/blkhash/export-random.py" "$dir"
for program in veritysetup fsverity; do
  command -v $program > /dev/null ||
    skip "compared only with the reference: $program is missing"
done

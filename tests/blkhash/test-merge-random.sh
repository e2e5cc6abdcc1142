#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash merge combines random parts to the manifest of the image, or the error has
# the right reason: see merge-random.py, which reads BLKHASH_SEED and
# BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"

rounds 10 200 40
mkdir "$dir/parts"
"$PYTHON" "$abs_top_srcdir/tests/blkhash/merge-random.py" --dir "$dir/parts" ||
  fail "see above"

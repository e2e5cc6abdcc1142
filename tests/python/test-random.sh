#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random calls of the Python module give what C and the reference give: see
# test-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"

rounds 40 10000 10000
$python "$abs_top_srcdir/tests/python/test-random.py"

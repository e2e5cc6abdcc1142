#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Random calls of the library are compared with the reference: see
# test-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/../functions.sh"

rounds 25 400 100
export BLKHASH_DRIVER_WRAPPER="$(echo $wrapper)"
"$PYTHON" "$abs_top_srcdir/tests/lib/test-random.py" \
          --driver "$(real_program ./blkhash-driver)"

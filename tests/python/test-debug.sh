#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Python module in a Python that was built with assertions: reference
# counts, the GIL, the end of the interpreter.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
requires_program python3-dbg

for script in test-module test-random test-processes; do
  BLKHASH_ROUNDS=20 \
    run 0 python3-dbg -W error -X dev "$abs_top_srcdir/tests/python/$script.py"
done

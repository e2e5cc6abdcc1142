#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Python module uses memory rightly: the buffers of a program, the objects
# of the library.  Leaks are not searched for: Python itself frees not all at
# its end.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
[ "$VALGRIND" != no ] || skip "valgrind is missing"

# Valgrind does not see the objects in the memory of Python's own allocator.
PYTHONMALLOC=malloc
BLKHASH_ROUNDS=5
export PYTHONMALLOC BLKHASH_ROUNDS
for script in test-module test-random; do
  run 0 "$VALGRIND" -q --vgdb=no --error-exitcode=99 \
    --suppressions="$abs_top_srcdir/tests/valgrind.supp" \
    "$PYTHON" "$abs_top_srcdir/tests/python/$script.py"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Python module keeps what it promises, is hard to misuse, and causes no
# warning: threads, signals, forks, multiprocessing, the end of the
# interpreter, a library that is missing or too old.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"

run 0 timeout $limit $python "$abs_top_srcdir/tests/python/test-module.py"
rounds 1 20 20
run 0 $python "$abs_top_srcdir/tests/python/test-processes.py" \
  --rounds "$BLKHASH_ROUNDS"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# With too little memory, too few open files, too small files, one CPU, or a clock
# that jumps, there is the right answer, or an error: runs test-limits.py, which
# reads BLKHASH_SEED and BLKHASH_ROUNDS, the number of runs of blksum and of servers.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "valgrind needs more than the limits"
requires_no_sanitizer "a sanitizer must be the first library"
requires test -r /proc/$$/task/$$/children
. "$(dirname "$0")/call-functions.sh"

build_call_faults $OPENSSL_LIBS
$CC -shared -fPIC -o "$dir/clock.so" \
  "$abs_top_srcdir/tests/campaign/jumping-clock.c" -ldl ||
  skip "cannot build jumping-clock.c"
modules=$abs_top_builddir/filter/.libs
filters=
if [ -f "$modules/nbdkit-blkhash-filter.so" ] && "$PYTHON" -c 'import nbd'; then
  filters="--filter $modules/nbdkit-blkhash-filter.so
           --verify $modules/nbdkit-blkhash-verify-filter.so"
fi
rounds 25 1000 0
"$PYTHON" "$abs_top_srcdir/tests/campaign/test-limits.py" $nbd \
  --library "$dir/call-faults.so" --clock "$dir/clock.so" \
  --blksum "$(real_program "$BLKSUM")" --blkhash "$(real_program "$BLKHASH")" \
  --driver "$(real_program "$abs_top_builddir/tests/blkhash-driver")" \
  --examples "$abs_top_builddir/examples/.libs" $filters

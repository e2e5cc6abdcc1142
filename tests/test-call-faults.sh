#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whichever call of a library function fails, blksum prints the right sum, or an
# error and no sum: runs test-call-faults.py, which reads BLKHASH_SEED.
# BLKHASH_ROUNDS is the number of random faults; in the long form all calls fail
# in turn.

. "$(dirname "$0")/functions.sh"
[ -z "$wrapper" ] || skip "valgrind replaces the same functions"
[ "$SANITIZE" = no ] || skip "a sanitizer must be the first library"
requires test -r /proc/$$/task/$$/children

nbd=--no-nbd libnbd=
if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
  nbd=--nbd libnbd="-DHAVE_LIBNBD $LIBNBD_CFLAGS"
fi
${CC:=cc} -shared -fPIC $OPENSSL_CFLAGS $libnbd -o "$dir/call-faults.so" \
  "$abs_top_srcdir"/tests/campaign/call-faults*.c -ldl 2> "$dir/cc.log" ||
  skip "cannot build call-faults.c: $(head -n 3 "$dir/cc.log")"

is_long || BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-120}
PYTHONPATH="$abs_top_srcdir/tests:$abs_top_srcdir/tests/campaign" \
  PYTHONDONTWRITEBYTECODE=1 \
  "$PYTHON" "$abs_top_srcdir/tests/test-call-faults.py" $nbd \
  --library "$dir/call-faults.so" \
  --blksum "$(real_program "$abs_top_builddir/tools/blksum")" \
  --driver "$(real_program "$abs_top_builddir/tests/blkhash-driver")" \
  --examples "$abs_top_builddir/examples/.libs" \
  ${BLKHASH_ROUNDS:+--faults "$BLKHASH_ROUNDS"}

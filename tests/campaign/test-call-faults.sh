#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whichever call of a library function fails, blksum prints the right sum, or an
# error and no sum: runs test-call-faults.py, which reads BLKHASH_SEED.
# BLKHASH_ROUNDS is the number of random faults; in the long form all calls fail
# in turn.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "valgrind replaces the same functions"
requires_no_sanitizer "a sanitizer must be the first library"
requires test -r /proc/$$/task/$$/children

. "$(dirname "$0")/call-functions.sh"

build_call_faults
faults () {
  call_faults $nbd "$@" \
    --blksum "$(real_program "$BLKSUM")" --blkhash "$(real_program "$BLKHASH")" \
    --driver "$(real_program "$abs_top_builddir/tests/blkhash-driver")" \
    --examples "$abs_top_builddir/examples/.libs"
}

if is_long; then
  faults
else
  # No sync may fail in silence.
  (unset BLKHASH_ROUNDS
   faults --function fsync --job manifest --job update --job part \
         --job "export leaves")
  BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-120}
  faults
fi

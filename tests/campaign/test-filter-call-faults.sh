#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whichever call of a library function fails in one of the filters, there is the
# right sum, or an error and no sum, and clients get no wrong byte: runs
# test-call-faults.py, which reads BLKHASH_SEED.  BLKHASH_ROUNDS is the number of
# random faults; in the long form all calls fail in turn.

. "$(dirname "$0")/../filter-functions.sh"
verify=$abs_top_builddir/filter/.libs/nbdkit-blkhash-verify-filter.so
[ -f "$verify" ] || skip "built without the verify filter"
[ -z "$wrapper" ] || skip "valgrind replaces the same functions"
requires_no_sanitizer
requires_nbdkit file
requires test -r /proc/$$/task/$$/children
. "$(dirname "$0")/call-functions.sh"

build_call_faults $OPENSSL_LIBS
is_long || BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-25}
call_faults --filter "$filter" --verify "$verify"

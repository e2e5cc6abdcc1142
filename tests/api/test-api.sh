#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tests the public API: see test-api.c.

. "$(dirname "$0")/../functions.sh"

# valgrind and sanitizers change the use of memory, and are slow.
if [ -n "$wrapper" ] || [ "$SANITIZE" != no ]; then
  export BLKHASH_NO_RSS=1 BLKHASH_SHORT=1
fi
# In an emulator, tests that count to 2^64 take hours.
for name in $BLKHASH_API_TESTS; do
  run 0 $(real_program ./test-api) "$name"
  grep "^ok: $name" "$dir/stdout" || fail "no test of the API is $name"
done
[ -z "$BLKHASH_API_TESTS" ] || exit 0
$wrapper $(real_program ./test-api)

# In valgrind these take minutes, and find nothing.
[ -z "$wrapper" ] || exit 0

# On large machines malloc keeps as many arenas as there are threads.
export MALLOC_ARENA_MAX=512
for name in alone-threads-bound alone-large-bound alone-copies-bound; do
  $(real_program ./test-api) $name
done

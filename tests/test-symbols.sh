#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The shared library exports what blkhash.syms lists, no more and no less, and
# that is what the public headers declare.

. "$(dirname "$0")/functions.sh"
requires_program nm readelf

library=$abs_top_builddir/lib/.libs/libblkhash.so
[ -e "$library" ] || skip "no shared library"

sed -n 's/^ *\(blkhash_[a-z_0-9]*\);$/\1/p' \
    "$abs_top_srcdir/lib/blkhash.syms" | sort > "$dir/listed"
[ -s "$dir/listed" ] || fail "blkhash.syms lists nothing"

# Names of functions: an identifier before a parenthesis, outside of comments.
sed -e 's:/\*.*\*/::' -e '/\/\*/,/\*\//d' \
    "$abs_top_srcdir"/include/*.h |
  grep -o '\bblkhash_[a-z_0-9]* (' | tr -d ' (' | sort > "$dir/declared"
diff -u "$dir/listed" "$dir/declared" || fail "the headers are not blkhash.syms"

# Sanitizers export symbols of their own.
nm -D --defined-only --format=posix "$library" |
  sed 's/@.*//; s/ .*//' | grep -v -e '^BLKHASH_' -e '^__*[a-z]*san_' \
                                   -e '^__odr_asan' | sort > "$dir/exported"
diff -u "$dir/listed" "$dir/exported" || fail "exports are not blkhash.syms"

# All are functions, and of our version.
if nm -D --defined-only "$library" | grep ' [DBRCV] .*blkhash'; then
  fail "exports a variable"
fi
nm -D --defined-only "$library" | grep -q 'blkhash_new@@BLKHASH_1\.0$' ||
  fail "symbols have no version"

readelf -d "$library" > "$dir/dynamic"
grep -q 'SONAME.*\[libblkhash\.so\.0\]' "$dir/dynamic" || fail "the soname"
if grep -e TEXTREL -e RPATH -e RUNPATH "$dir/dynamic"; then
  fail "a library that is not fit to be installed"
fi

# It does what the header promises: no exit, no abort of its own, no stderr.
nm -D --undefined-only "$library" | sed 's/.* U //; s/@.*//' > "$dir/used"
for symbol in exit _exit abort stderr stdout printf puts perror signal \
              sigaction; do
  if grep -qx $symbol "$dir/used"; then
    fail "uses $symbol"
  fi
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The shared library exports exactly the functions that blkhash.syms lists, and
# the public headers declare the same.

. "$(dirname "$0")/../functions.sh"
requires_program nm readelf

library=$abs_top_builddir/lib/.libs/libblkhash.so
[ -e "$library" ] || skip "no shared library"

sed -n 's/^ *\(blkhash_[a-z_0-9]*\);$/\1/p' \
    "$abs_top_srcdir/lib/blkhash.syms" | sort > "$dir/listed"
[ -s "$dir/listed" ] || fail "blkhash.syms lists nothing"

# Names of functions: identifiers before a parenthesis, outside of comments.
sed -e 's:/\*.*\*/::' -e '/\/\*/,/\*\//d' \
    "$abs_top_srcdir"/include/*.h |
  grep -o '\bblkhash_[a-z_0-9]* (' | tr -d ' (' | sort > "$dir/declared"
diff -u "$dir/listed" "$dir/declared" ||
  fail "the headers differ from blkhash.syms"

# Sanitizers export other symbols.
nm -D --defined-only --format=posix "$library" |
  sed 's/@.*//; s/ .*//' | grep -v -e '^BLKHASH_' -e '^__*[a-z]*san_' \
                                   -e '^__odr_asan' | sort > "$dir/exported"
diff -u "$dir/listed" "$dir/exported" ||
  fail "the exports differ from blkhash.syms"

# All exports are functions, with our version.
if nm -D --defined-only "$library" | grep ' [DBRCV] .*blkhash'; then
  fail "exports a variable"
fi
nm -D --defined-only "$library" | grep -q 'blkhash_new@@BLKHASH_1\.0$' ||
  fail "symbols have no version"

readelf -d "$library" > "$dir/dynamic"
grep -q 'SONAME.*\[libblkhash\.so\.0\]' "$dir/dynamic" ||
  fail "the SONAME is not libblkhash.so.0"
if grep -e TEXTREL -e RPATH -e RUNPATH "$dir/dynamic"; then
  fail "the library has text relocations or a run path"
fi

# blksum links the library statically, so the two must not define functions of
# the same name.
nm --defined-only --format=posix "$abs_top_builddir/lib/.libs/libcore.a" |
  sed -n 's/^\([^ ]*\) [A-Z] .*/\1/p' | grep -v '^__*[a-z]*san_' |
  sort -u > "$dir/of-library"
find "$abs_top_builddir/tools" -name '*.o' ! -name 'test-*' ! -name 'fuzz-*' \
    -exec nm --defined-only --format=posix {} + |
  sed -n 's/^\([^ ]*\) [A-Z] .*/\1/p' | grep -v '^__*[a-z]*san_' |
  sort -u > "$dir/of-blksum"
[ -s "$dir/of-library" ] && [ -s "$dir/of-blksum" ] || fail "nm found nothing"
if comm -12 "$dir/of-library" "$dir/of-blksum" | grep .; then
  fail "the library and blksum define the same names"
fi

# The header promises that the library calls no exit and abort, and prints
# nothing.
nm -D --undefined-only "$library" | sed 's/.* U //; s/@.*//' > "$dir/used"
for symbol in exit _exit abort stderr stdout printf puts perror signal \
              sigaction; do
  if grep -qx $symbol "$dir/used"; then
    fail "uses $symbol"
  fi
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The SONAME of upstream's library is libblkhash.so.0 too.  A program that was
# built with upstream's prototypes, and linked with a library of that name
# without versions of symbols, runs with ours and prints the right sums.

. "$(dirname "$0")/../functions.sh"
requires_program readelf nm "${CC%% *}"

library=$abs_top_builddir/lib/.libs/libblkhash.so
[ -e "$library" ] || skip "no shared library"
source=$abs_top_srcdir/tests/api

# The dynamic linker finds the library only by its SONAME.
run 0 readelf -d "$library"
grep -q 'SONAME.*\[libblkhash\.so\.0\]' "$dir/stdout" ||
  fail "the SONAME is not libblkhash.so.0"
mkdir "$dir/ours" "$dir/theirs"
cp "$library" "$dir/ours/libblkhash.so.0"

# Declarations must be compatible with ours, or this does not compile.
run 0 $CC $CFLAGS -Wall -Werror -DWITH_OUR_HEADER \
  -I"$abs_top_srcdir/include" -fsyntax-only "$source/upstream-program.c"

# The library to link with: the same functions, with empty bodies.
sed -n 's/^[a-z].*\(blkhash_[a-z_0-9]*\) (.*/\1/p' "$source/upstream-api.h" |
  LC_ALL=C sort > "$dir/functions"
[ "$(wc -l < "$dir/functions")" = 21 ] || fail "cannot read upstream-api.h"
sed 's/.*/void & (void) { }/' "$dir/functions" > "$dir/theirs.c"
run 0 $CC $CFLAGS -w -shared -fPIC -Wl,-soname,libblkhash.so.0 \
  -o "$dir/theirs/libblkhash.so" "$dir/theirs.c"

program=$dir/program
run 0 $CC $CFLAGS -o "$program" "$source/upstream-program.c" \
  -L"$dir/theirs" -lblkhash
# The program uses all of them, without versions of symbols.
nm -D --undefined-only "$program" | sed -n 's/.* U \(blkhash_.*\)/\1/p' |
  LC_ALL=C sort > "$dir/undefined"
diff -u "$dir/functions" "$dir/undefined" ||
  fail "the program does not need just those symbols"

LD_LIBRARY_PATH=$dir/ours LD_BIND_NOW=1
export LD_BIND_NOW
make_image "$dir/image"
head -c 100000 "$dir/image" > "$dir/short"
: > "$dir/empty"
for image in image short empty; do
  image=$dir/$image
  prints_sum "$(reference "$image")" "$program" "$image"
  for kind in 'sha256 65536 0' 'sha512 4096 0' 'sha1 65536 64'; do
    # shellcheck disable=SC2086 # three words
    set -- $kind
    expected=$(reference -d "$1" -b "$2" -s "$3" "$image")
    for depth in 0 1 8; do
      prints_sum "$expected" "$program" "$image" "$1" "$2" "$3" $depth
    done
  done
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each header compiles alone; the public headers in old and new C and C++,
# without config.h and without a warning.

. "$(dirname "$0")/../functions.sh"
compiler=${CC:-cc}
requires_program ${compiler%% *}

# compiles COMMAND: it compiles a program that only includes the header.
compiles () {
  echo "+ $*"
  "$@" > "$dir/stdout" 2>&1 || fail "does not compile: $*"
}

warnings="-Wall -Wextra -Werror"
flags="$CPPFLAGS $OPENSSL_CFLAGS $JSON_C_CFLAGS $LIBNBD_CFLAGS $NBDKIT_CFLAGS"
src=$abs_top_srcdir
# Without nbdkit the filter is not built, and its headers do not compile.
with_nbdkit=$(grep '^#define HAVE_NBDKIT 1' "$abs_top_builddir/config.h") || :
for header in "$src"/include/*.h "$src"/lib/*/*.h "$src"/tools/*/*.h \
              "$src"/filter/*/*.h "$src"/tests/bench/*.h; do
  case $header in
    */*-vector.h | */vector-*.h) continue ;; # templates
    */filter/*)
      if [ -z "$with_nbdkit" ]; then
        echo "without nbdkit: $header is left out"
        continue
      fi ;;
  esac
  printf '#include <config.h>\n#include "%s"\nint only;\n' "$header" \
    > "$dir/alone.c"
  # Twice, because a header needs include guards.
  printf '#include "%s"\n' "$header" >> "$dir/alone.c"
  compiles $compiler -std=gnu11 $warnings -Wno-unused-function \
           -I"$abs_top_builddir" -I"$src/include" -I"$src/lib" -I"$src/tools" \
           -I"$src/filter" $flags -fsyntax-only "$dir/alone.c"
done

public="#include <blkhash-manifest.h>
#include <blkhash.h>
#include <blkhash-leaves.h>
int main (void) { return blkhash_digests (0, 0) == 0; }"
echo "$public" > "$dir/public.c"
echo "$public" > "$dir/public.cc"
include="-I$abs_top_srcdir/include"
for std in c99 c11 gnu17; do
  compiles $compiler -std=$std -pedantic $warnings -Wstrict-prototypes \
           $include -fsyntax-only "$dir/public.c"
done

# The version in blkhash.h is that of configure.ac.
version=$(sed -n 's/^#define BLKHASH_VERSION_[A-Z]* \([0-9]*\)$/\1/p' \
              "$src/include/blkhash.h" | paste -s -d .)
grep -qFx "#define PACKAGE_VERSION \"$version\"" "$abs_top_builddir/config.h" ||
  fail "the version in blkhash.h differs: $version"

compiler=${CXX:-c++}
requires_program ${compiler%% *}
for std in c++11 c++17 gnu++20; do
  compiles $compiler -std=$std -pedantic $warnings $include -fsyntax-only \
           "$dir/public.cc"
done
# It links too: names are not mangled.
[ "$SANITIZE" = no ] || exit 0
compiles $compiler $include -o "$dir/public" "$dir/public.cc" \
         -L"$abs_top_builddir/lib/.libs" -lblkhash
"$dir/public" || fail "a program in C++ does not run"

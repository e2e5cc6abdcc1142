#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A program that uses libblkhash needs no other package to be built: blkhash.pc
# works if pkg-config finds no other file.  The libraries that a static library
# needs are in it too, for "pkg-config --static".

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS

pkg_config=${PKG_CONFIG:-pkg-config}
requires_program make "$pkg_config" "${CC%% *}"

for part in include lib; do
  run 0 make -C "$abs_top_builddir/$part" install DESTDIR="$dir/root"
done
pc=$(find "$dir/root" -name blkhash.pc)
[ -n "$pc" ] || fail "blkhash.pc was not installed"
PKG_CONFIG_LIBDIR=${pc%/*}
export PKG_CONFIG_LIBDIR
unset PKG_CONFIG_PATH
if "$pkg_config" --exists libcrypto; then
  fail "pkg-config finds more than blkhash.pc: this tests nothing"
fi

# pkg OPTION...: runs pkg-config for the library, which is below $dir/root.
libdir=$("$pkg_config" --variable=libdir blkhash)
includedir=$("$pkg_config" --variable=includedir blkhash)
pkg () {
  "$pkg_config" --define-variable=libdir="$dir/root$libdir" \
    --define-variable=includedir="$dir/root$includedir" "$@" blkhash
}

# build PROGRAM FLAG...: links the example with these flags.
build () {
  program=$dir/$1
  shift
  # shellcheck disable=SC2046,SC2086 # lists of flags
  run 0 $CC $CFLAGS $(pkg --cflags) -o "$program" \
    "$abs_top_srcdir/examples/blkhash-sync.c" "$@"
}

# The known answer of blkhash-format(7).
printf hello > "$dir/image"
sum=337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6

run 0 pkg --print-errors --exists
run 0 pkg --cflags --libs
! grep -q crypto "$dir/stdout" || fail "a shared library needs no -lcrypto"
if [ -e "$dir/root$libdir/libblkhash.so" ]; then
  # shellcheck disable=SC2046
  build shared $(pkg --libs)
  LD_LIBRARY_PATH=$dir/root$libdir
  prints_sum "$sum" "$dir/shared" "$dir/image"
fi

# Only the archive remains, as --enable-static installs it.
rm -f "$dir/root$libdir"/libblkhash.*
cp "$abs_top_builddir/lib/.libs/libcore.a" "$dir/root$libdir/libblkhash.a"
# shellcheck disable=SC2046
build static $(pkg --static --libs)
prints_sum "$sum" "$dir/static" "$dir/image"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs that were linked with the library that lib/abi describes run with
# this build: abidw finds no differences except added functions.
#
# BLKHASH_UPDATE_ABI=1, which "make update-abi" sets, writes the description.

. "$(dirname "$0")/../functions.sh"
requires_program abidw abidiff readelf

library=$abs_top_builddir/lib/.libs/libblkhash.so
described=$abs_top_srcdir/lib/abi/libblkhash.so.0.xml
[ -e "$library" ] || skip "no shared library"
[ "$SANITIZE" = no ] || skip "built with a sanitizer"
run 0 env LC_ALL=C readelf -hSW "$library"
for line in 'Class: *ELF64' 'Machine:.*X86-64'; do
  grep -q "$line" "$dir/stdout" || skip "lib/abi describes x86-64"
done
grep -q ' \.debug_info ' "$dir/stdout" || skip "built without -g"

# The public functions and types, without directory names.  abidiff itself does
# not get the headers: it would ignore that a parameter of a callback has
# another type.
run 0 abidw --headers-dir "$abs_top_srcdir/include" --drop-private-types \
  --exported-interfaces-only --no-corpus-path --no-comp-dir-path --short-locs \
  --no-elf-needed --type-id-style hash --out-file "$dir/built.xml" "$library"
grep -q "name='blkhash_new'.*type='func-type'" "$dir/built.xml" ||
  fail "abidw does not see blkhash_new"

if [ "${BLKHASH_UPDATE_ABI:-0}" != 0 ]; then
  cp "$dir/built.xml" "$described"
  exit 0
fi

# Any report is a failure.  abidiff is sure that a change is incompatible only
# if a function was removed; other changes it calls possibly incompatible.
run 0 abidiff --no-added-syms "$described" "$dir/built.xml"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A build in the source directory leaves the sources as they are.  A page was
# made through a file that has the name of its source there.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_program make
[ -e "$abs_top_builddir/man/blksum.1" ] || skip "no pod2man"

# What "make dist" packs; "before" is not touched.
packed=in-tree-$$
run 0 make -C "$abs_top_builddir" distdir distdir=$packed
mv "$abs_top_builddir/$packed" "$dir/source"
cp -a "$dir/source" "$dir/before"

cd "$dir/source"
run 0 ./configure --disable-dependency-tracking --without-nbdkit \
    --without-libnbd CC="$CC"
run 0 make -C man
[ -s man/blkhash.1 ] && [ -s man/blkhash.3 ] || fail "pages are missing"
cd "$dir"
diff -r before source > "$dir/diff" || true
grep -v '^Only in source' "$dir/diff" > "$dir/changed" || true
[ ! -s "$dir/changed" ] || fail "the build changed: $(cat "$dir/changed")"

run 0 make -C source distclean

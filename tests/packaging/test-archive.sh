#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# "make dist" packs the files that git tracks, and what ./bootstrap makes of them.  The
# archive depends only on their content: what is unpacked in another directory, by
# another user, with other permissions, dates and locale, and is configured with other
# options, packs the same bits, and does not run the autotools again.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS SOURCE_DATE_EPOCH
requires_program make tar xz
tar --version | grep GNU || skip "tar is not GNU tar"

# A directory of this name is in the build while it is packed.
name=archive-$$
archive=$name.tar.xz
run 0 make -C "$abs_top_builddir" dist distdir=$name
mv "$abs_top_builddir/$archive" "$dir"

# ---- The files ----

generated='(.*/)?Makefile\.in|aclocal\.m4|config\.h\.in|configure|(build-aux|m4)/.*'
tar -tf "$dir/$archive" | sed -n "s,^$name/,,; /[^/]\$/p" | LC_ALL=C sort > "$dir/all"
grep -q -x configure "$dir/all" || fail "the archive has no configure"
grep -v -x -E "$generated" "$dir/all" > "$dir/packed"

# files OPTION...: prints the files that git lists.
files () {
  git -C "$abs_top_srcdir" ls-files "$@" | grep -v -x -E '\.gitignore|\.ci/run' |
    LC_ALL=C sort
}
if [ -e "$abs_top_srcdir/.git" ] && files > "$dir/tracked" && [ -s "$dir/tracked" ]; then
  LC_ALL=C comm -23 "$dir/tracked" "$dir/packed" > "$dir/stdout"
  [ ! -s "$dir/stdout" ] || fail "the archive lacks files"
  # A file that will be in the next commit is packed, too.
  files --cached --others --exclude-standard |
    LC_ALL=C comm -13 - "$dir/packed" > "$dir/stdout"
  [ ! -s "$dir/stdout" ] || fail "the archive has files that are not ours"
fi

# ---- The same bits ----

as_other=
if [ "$(id -u)" = 0 ] && command -v setpriv; then
  as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'
  $as_other true || as_other=
fi
chmod 711 "$dir"
chmod 777 "$dir/tmp"
cd "$dir/tmp"
run 0 $as_other sh -c 'umask 077 && tar --no-same-permissions -xf "$1"' sh "../$archive"
$as_other touch $name/README.md $name/lib/*/*.c
$as_other mkdir -m 700 build
run 0 $as_other env -C build CCACHE_DISABLE=1 ../$name/configure \
    --disable-dependency-tracking --without-nbdkit --without-libnbd CC="$CC" \
    ACLOCAL=false AUTOCONF=false AUTOHEADER=false AUTOMAKE=false
run 0 $as_other env TZ=Asia/Kathmandu LC_ALL=C.UTF-8 sh -c 'umask 007 && "$@"' \
    sh make -C build dist distdir=$name
cmp ../$archive build/$archive || fail "two archives of the same files differ"

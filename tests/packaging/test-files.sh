#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each file that "make install" installs is in one Debian package and in one RPM
# package, and their lists name no other file.  Descriptions of packages are not
# too wide.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_program make
for part in man/blksum.1 filter/.libs; do
  [ -e "$abs_top_builddir/$part" ] || skip "built without $part"
done
grep -q '^pythondir = .' "$abs_top_builddir/python/Makefile" ||
  skip "built without the Python module"

# names: prints the last parts of paths; bash's completion is named like the
# program, and so is the Python module, which is a directory in each package.
names () {
  sed 's,.*/completions/,completion-of-,
       s,.*/dist-packages/blkhash$,python-module,
       s,.*{pythondir}/blkhash$,python-module,
       s,.*/blkhash/[^/]*\.\(py\|typed\)$,python-module,
       s,.*/,,'
}

run 0 make -C "$abs_top_builddir" install DESTDIR="$dir/root"
find "$dir/root" ! -type d | names | LC_ALL=C sort -u > "$dir/installed"
[ -s "$dir/installed" ] || fail "nothing is installed"

# The patterns that name files in each kind of package, by their last part; with
# those that are removed before the packages are made.
cat "$abs_top_srcdir"/packaging/debian/*.install \
    "$abs_top_srcdir/packaging/debian/not-installed" |
  sed 's,^usr/share/man/man3$,blkhash*.3,' | names > "$dir/deb"
sed -n '/^%files/,/^%changelog/{ /^%{/p; }; s/^rm -f %{buildroot}//p' \
    "$abs_top_srcdir/packaging/blkhash.spec" |
  names | sed '/\.[1-9]\*$/s/\*$//' > "$dir/rpm"

# matches NAME PATTERN: PATTERN is one of the shell.
matches () {
  # shellcheck disable=SC2254 # a pattern
  case $1 in
    $2) true ;;
    *) false ;;
  esac
}

for kind in deb rpm; do
  [ -s "$dir/$kind" ] || fail "cannot read the lists of $kind"
  while read -r name; do
    count=0
    while read -r pattern; do
      ! matches "$name" "$pattern" || count=$((count + 1))
    done < "$dir/$kind"
    [ $count = 1 ] || fail "$name is in $count packages of $kind"
  done < "$dir/installed"
  while read -r pattern; do
    while read -r name; do
      ! matches "$name" "$pattern" || continue 2
    done < "$dir/installed"
    fail "$kind: no installed file matches $pattern"
  done < "$dir/$kind"
done

# lintian and rpmlint complain of these, but only packagers run them.
! grep -n '^ .\{80\}' "$abs_top_srcdir/packaging/debian/control" ||
  fail "a line of a description is longer than 80 characters"
sed -n '/^%description/,/^%[^d]/p' "$abs_top_srcdir/packaging/blkhash.spec" > "$dir/stdout"
[ -s "$dir/stdout" ] || fail "cannot read the descriptions of the RPMs"
! grep -n '^.\{80\}' "$dir/stdout" ||
  fail "a line of a description is longer than 79 characters"

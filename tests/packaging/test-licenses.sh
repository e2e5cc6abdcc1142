#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each of our files in the source archive has a license, in its head or in REUSE.toml, and
# LICENSES has the text of each.  packaging/debian/copyright knows which files have the
# license of nbdkit.  reuse, of PyPI or Debian 13, checks REUSE.toml itself.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_program make

packed=licenses-$$
run 0 make -C "$abs_top_builddir" distdir distdir=$packed
mv "$abs_top_builddir/$packed" "$dir/source"
cd "$dir/source"
# Those of the autotools have other licenses.
rm -r aclocal.m4 build-aux config.h.in configure m4
find . -name Makefile.in -exec rm {} +

# list_matching PATTERN...: prints the lines that match a pattern of the shell, in which
# "*" matches "/", too.
list_matching () {
  set -f
  while read -r line; do
    for pattern; do
      # shellcheck disable=SC2254 # a pattern
      case $line in
        $pattern) echo "$line"; break ;;
      esac
    done
  done
  set +f
}

# ---- Each file ----

copyright='SPDX-FileCopyrightText: The blkhash authors'
license='SPDX-License-Identifier'
find . -type f ! -empty ! -path './LICENSES/*' | sed 's,^\./,,' | LC_ALL=C sort > ../files
xargs grep -l "$copyright" < ../files | xargs grep -l "$license: " > ../headed
grep -v -x -F -f ../headed ../files > ../others
annotated=$(sed -n '/^SPDX/d; s/^\(path =\)\{0,1\} *"\(.*\)",\{0,1\}$/\2/p' REUSE.toml)
set -f
# shellcheck disable=SC2086 # patterns
list_matching $annotated < ../others > ../annotated
set +f
diff ../others ../annotated || fail "files have no license"
[ -s ../headed ] && [ -s ../annotated ] || fail "this tests nothing"

grep -r -h -o "$license"'[: ="]*[A-Z][A-Za-z0-9.-]*[0-9a-z]' . | sed 's/.*[ "]//' |
  LC_ALL=C sort -u > ../named
for file in LICENSES/*.txt; do
  basename "$file" .txt
done | LC_ALL=C sort | diff ../named - || fail "LICENSES does not have what files name"

# ---- Debian's list ----

bsd=$(awk '/^Files:/ { list = ""; more = 1 }
           /^Copyright:/ { more = 0 }
           more { sub (/^Files:/, ""); list = list $0 }
           /^License: BSD-3-clause/ { print list; exit }' packaging/debian/copyright)
set -f
# shellcheck disable=SC2086 # patterns
list_matching $bsd < ../headed > ../debian
set +f
xargs grep -l "$license: BSD-3-Clause" < ../headed | diff - ../debian ||
  fail "packaging/debian/copyright has other files under the license of nbdkit"

# ---- reuse ----

reuse convert-dep5 --help || skip "reuse is missing, or older than 4.0"
run 0 reuse --root . lint
echo 'int x;' > lib/unlicensed.c
run 1 reuse --root . lint

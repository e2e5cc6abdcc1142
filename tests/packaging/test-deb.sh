#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Debian package of the filter depends on the version of nbdkit that it was
# built for, in any revision: no other version loads it.  The package of the
# library lists all symbols, and that of the Python module depends on it.  The packages
# have the version of the source.

. "$(dirname "$0")/../functions.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS
requires_program make perl dpkg

packaging=$abs_top_srcdir/packaging/debian
sed -n '/^Package: nbdkit-blkhash-filter$/,/^$/p' "$packaging/control" |
  grep -q '^Depends:.*\${nbdkit:Depends}' ||
    fail "the filter does not depend on nbdkit"

sed -n '/^Package: python3-blkhash$/,/^$/p' "$packaging/control" > "$dir/stdout"
grep -q '^Architecture: all$' "$dir/stdout" ||
  fail "the Python module is not for all architectures"
grep -q '^Depends:.*libblkhash0 (>= \${source:Version})' "$dir/stdout" ||
  fail "the Python module does not depend on the library"

# The installed version of nbdkit.
cat > "$dir/bin/pkg-config" << 'END'
#!/bin/sh
[ "$*" = "--modversion nbdkit" ] && echo "$NBDKIT_VERSION"
END
chmod +x "$dir/bin/pkg-config"

# depends_of VERSION: prints the dependencies of a package that is built with
# it.
depends_of () {
  run 0 env NBDKIT_VERSION="$1" \
    make -n -f "$packaging/rules" override_dh_gencontrol
  sed -n "s/.*-V'nbdkit:Depends=\([^']*\)'.*/\1/p" "$dir/stdout" \
    > "$dir/depends"
}

# admits VERSION: the dependencies are satisfied by this version of Debian's
# nbdkit.
admits () {
  tr , '\n' < "$dir/depends" |
    sed 's/^ *nbdkit (\(.*\) \(.*\))$/\1 \2/' > "$dir/relations"
  [ -s "$dir/relations" ] || fail "the package has no dependencies"
  while read -r relation limit; do
    dpkg --compare-versions "$1" "$relation" "$limit" || return 1
  done < "$dir/relations"
}

depends_of 1.32.5
for version in 1.32.5-1 1.32.5-1+b2 1.32.5-1~bpo12+1 1.32.5-0ubuntu1 \
               1.32.5-3+deb12u1; do
  admits $version || fail "built with 1.32.5, does not admit $version"
done
for version in 1.32.4-1 1.32.6-1 1.32.6~rc1-1 1.32.50-1 1.33.5-1 1.3-1; do
  ! admits $version || fail "built with 1.32.5, admits $version"
done

depends_of 1.45.19
admits 1.45.19-1 || fail "built with 1.45.19, does not admit it"
! admits 1.45.20-1 || fail "built with 1.45.19, admits 1.45.20-1"
! admits 1.45.2-1 || fail "built with 1.45.19, admits 1.45.2-1"

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' \
              "$abs_top_builddir/config.h")
run 0 sed -n '1s/^blkhash (\(.*\)-[^-]*) .*/\1/p' "$packaging/changelog"
[ "$(cat "$dir/stdout")" = "$version" ] || fail "the version is not $version"

sed -n 's/^    \(blkhash_.*\);$/\1/p' "$abs_top_srcdir/lib/blkhash.syms" |
  LC_ALL=C sort > "$dir/symbols"
[ -s "$dir/symbols" ] || fail "cannot read blkhash.syms"
sed -n 's/^ \(blkhash_.*\)@.*/\1/p' "$packaging/libblkhash0.symbols" \
  > "$dir/listed"
diff "$dir/symbols" "$dir/listed" ||
  fail "libblkhash0.symbols does not list what blkhash.syms exports"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The RPM of the filter requires the version of nbdkit that it was built for,
# the only one that loads it, and has the filter where that nbdkit looks.  The
# packages have the version of the source.  That of the library provides what a
# program requires that was linked with another library of its SONAME.

. "$(dirname "$0")/functions.sh"
requires_program rpmspec

# The version of nbdkit that is installed.
cat > "$dir/bin/pkg-config" << 'END'
#!/bin/sh
[ "$NBDKIT_VERSION" ] || exit 1
case $* in
  '--modversion nbdkit') echo "$NBDKIT_VERSION" ;;
  '--variable=filterdir nbdkit') echo /opt/filters ;;
  *) exit 1 ;;
esac
END
chmod +x "$dir/bin/pkg-config"

# rpmspec_with VERSION [ARGUMENT]...: with that version of nbdkit, or none.
rpmspec_with () {
  NBDKIT_VERSION=$1
  shift
  run 0 env HOME="$dir" NBDKIT_VERSION="$NBDKIT_VERSION" \
    rpmspec "$@" "$abs_top_srcdir/packaging/blkhash.spec"
}

requires_of () {
  rpmspec_with "$1" -q --requires
  grep '^nbdkit-server' "$dir/stdout" > "$dir/requires" ||
    fail "it requires nothing of nbdkit"
}

requires_of 1.32.5
grep -q '^nbdkit-server[^ ]* = 1\.32\.5$' "$dir/requires" ||
  fail "built with 1.32.5, requires: $(cat "$dir/requires")"

# Before the requirements of the build are installed, which are read from it.
requires_of ''

rpmspec_with 1.32.5 -P
grep -qx /opt/filters/nbdkit-blkhash-filter.so "$dir/stdout" ||
  fail "the filter is not where nbdkit looks"
rpmspec_with '' -P
grep -qx '/.*/nbdkit/filters/nbdkit-blkhash-filter.so' "$dir/stdout" ||
  fail "without nbdkit the filter has no place"

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' \
              "$abs_top_builddir/config.h")
grep -q "^Version: *$version\$" "$dir/stdout" || fail "it is not version $version"
grep -q "^\* .* - $version-1\$" "$dir/stdout" ||
  fail "the changelog does not know version $version"

# What rpmbuild reads from the library.  One of 32 bits has no "(64bit)".
library=$abs_top_builddir/lib/.libs/libblkhash.so
elfdeps=$(rpm -E '%{_rpmconfigdir}')/elfdeps
[ -e "$library" ] || skip "no shared library"
requires_program "$elfdeps"
echo "$library" | "$elfdeps" --provides > "$dir/stdout"
grep -qx 'libblkhash\.so\.0\(()(64bit)\)\{0,1\}' "$dir/stdout" ||
  fail "the library does not provide its SONAME"
grep -q '^libblkhash\.so\.0(BLKHASH_1\.0)' "$dir/stdout" ||
  fail "the library does not provide the version of its symbols"

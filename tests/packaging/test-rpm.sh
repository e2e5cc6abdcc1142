#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The RPM of the filter requires the version of nbdkit that it was built for,
# because no other loads it, and has the filter in the directory of that nbdkit.
# The packages have the version of the source.  The RPM of the library provides
# what a program requires that was linked with another library of its SONAME.  The RPM
# of the Python module requires the library, and is in the directory of Python.

. "$(dirname "$0")/../functions.sh"
requires_program rpmspec

# The installed version of nbdkit.
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

# rpmspec_with VERSION [ARGUMENT]...: VERSION of nbdkit is installed; '' for
# none.
rpmspec_with () {
  NBDKIT_VERSION=$1
  shift
  run 0 env HOME="$dir" NBDKIT_VERSION="$NBDKIT_VERSION" \
    rpmspec "$@" "$abs_top_srcdir/packaging/blkhash.spec"
}

requires_of () {
  rpmspec_with "$1" -q --requires
  grep '^nbdkit-server' "$dir/stdout" > "$dir/requires" ||
    fail "the filter does not require nbdkit"
}

requires_of 1.32.5
grep -q '^nbdkit-server[^ ]* = 1\.32\.5$' "$dir/requires" ||
  fail "built with 1.32.5, requires: $(cat "$dir/requires")"

# rpmbuild reads the build requirements when nbdkit is not installed yet.
requires_of ''

rpmspec_with 1.32.5 -P
grep -qx /opt/filters/nbdkit-blkhash-filter.so "$dir/stdout" ||
  fail "the filter is not in nbdkit's directory"
rpmspec_with '' -P
grep -qx '/.*/nbdkit/filters/nbdkit-blkhash-filter.so' "$dir/stdout" ||
  fail "no directory for the filter without nbdkit"

rpmspec_with '' -q --qf '%{name} %{arch} [%{requires} ]\n'
grep -q '^python3-blkhash noarch .*blkhash-libs ' "$dir/stdout" ||
  fail "the Python module is not noarch, or does not require the library"
rpmspec_with '' -P -D 'python3_sitelib /opt/modules'
grep -qx /opt/modules/blkhash "$dir/stdout" ||
  fail "the Python module is not in Python's directory"

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' \
              "$abs_top_builddir/config.h")
grep -q "^Version: *$version\$" "$dir/stdout" ||
  fail "the version is not $version"
grep -q "^\* .* - $version-1\$" "$dir/stdout" ||
  fail "the changelog has no version $version"

# rpmbuild reads these from the library.  On 32 bits they have no "(64bit)".
library=$abs_top_builddir/lib/.libs/libblkhash.so
elfdeps=$(rpm -E '%{_rpmconfigdir}')/elfdeps
[ -e "$library" ] || skip "no shared library"
requires_program "$elfdeps"
echo "$library" | "$elfdeps" --provides > "$dir/stdout"
grep -qx 'libblkhash\.so\.0\(()(64bit)\)\{0,1\}' "$dir/stdout" ||
  fail "the library does not provide its SONAME"
grep -q '^libblkhash\.so\.0(BLKHASH_1\.0)' "$dir/stdout" ||
  fail "the library does not provide the version of its symbols"

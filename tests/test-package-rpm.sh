#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The RPM of the filter requires the version of nbdkit that it was built for,
# the only one that loads it.

. "$(dirname "$0")/functions.sh"
requires_program rpmspec

# The version of nbdkit that is installed.
cat > "$dir/bin/pkg-config" << 'END'
#!/bin/sh
[ "$*" = "--modversion nbdkit" ] && [ "$NBDKIT_VERSION" ] &&
  echo "$NBDKIT_VERSION"
END
chmod +x "$dir/bin/pkg-config"

requires_of () {
  run 0 env HOME="$dir" NBDKIT_VERSION="$1" \
    rpmspec -q --requires "$abs_top_srcdir/packaging/blkhash.spec"
  grep '^nbdkit-server' "$dir/stdout" > "$dir/requires" ||
    fail "it requires nothing of nbdkit"
}

requires_of 1.32.5
grep -q '^nbdkit-server[^ ]* = 1\.32\.5$' "$dir/requires" ||
  fail "built with 1.32.5, requires: $(cat "$dir/requires")"

# Before the requirements of the build are installed, which are read from it.
requires_of ''

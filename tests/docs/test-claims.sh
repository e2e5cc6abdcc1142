#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/CLAIMS.md names what shows each claim of README, SECURITY and the guides: the
# pages still say it, and the tests exist and are run.  Files, links and sections that
# these pages name exist.  The log has the lines of all figures.

. "$(dirname "$0")/../functions.sh"

[ "$PYTHON" != no ] || skip "no python3"
claims=$abs_top_srcdir/tests/docs/claims.py

# finds TEXT PAGE SED-SCRIPT: the changed page, in a copy of the source, is wrong.
mkdir -p "$dir/copy/tests"
ln -s "$abs_top_srcdir"/* "$dir/copy" 2> /dev/null || :
ln -s "$abs_top_srcdir"/tests/* "$dir/copy/tests" 2> /dev/null || :
finds () {
  rm "$dir/copy/$2"
  sed "$3" "$abs_top_srcdir/$2" > "$dir/copy/$2"
  run 1 "$PYTHON" "$claims" "$dir/copy"
  grep -q "$1" "$dir/stdout" || fail "not found: $1"
  ln -sf "$abs_top_srcdir/$2" "$dir/copy/$2"
}
finds 'README.md: does not say: .*the source is read only once' README.md \
  's/the source is read only once/the source is read twice/'
finds 'README.md: no such file: docs/filters.md' README.md 's,docs/filter.md,docs/filters.md,'
finds 'SECURITY.md: no such section: docs/construction.md#why-a-tag' SECURITY.md \
  's/#why-a-sum-needs-its-tag/#why-a-tag/'
finds 'SECURITY.md: no such file: tests/blksum/test-rice.sh' SECURITY.md 's/test-race/test-rice/'
finds 'README.md: no such file: filter/test-waitings.sh' tests/CLAIMS.md \
  's,filter/test-waiting.sh,filter/test-waitings.sh,'

run 0 "$PYTHON" "$claims" "$abs_top_srcdir"
cat "$dir/stdout"

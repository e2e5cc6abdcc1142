#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair writes all bad blocks that a source has, and nothing else:
# see repair-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

rounds 10 500 100
[ -z "$wrapper" ] || BLKHASH_ROUNDS=3
options=
without () {
  options="$options --no-$1"
}
[ -z "$wrapper" ] && [ "$SANITIZE" = no ] &&
  strace -f -o "$dir/tmp/log" true 2> "$dir/tmp/why" || without strace
grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
  command -v nbdkit > "$dir/tmp/nbdkit" || without nbdkit
grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
  command -v qemu-img qemu-nbd > "$dir/tmp/qemu" || without qemu
echo "options: $options"
mkdir "$dir/runs"
cd "$dir"
requires_direct
"$PYTHON" "$abs_top_srcdir/tests/blkhash/repair-random.py" --dir "$dir/runs" \
  $options || fail "see above"

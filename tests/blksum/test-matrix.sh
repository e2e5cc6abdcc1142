#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# All jobs of blksum that use a checksum are right for images of all kinds,
# sizes, digests, block sizes and constructions: see matrix.py, which
# reads BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"

rounds 15 0 56

# Loop devices of the program have files in $dir.
detach () {
  losetup --list --noheadings --output NAME,BACK-FILE |
    grep -F " $dir/" | while read -r device file; do
      losetup -d "$device"
    done
}
if [ "$(id -u)" = 0 ] && command -v losetup > "$dir/stdout"; then
  at_exit detach
fi

mkdir "$dir/exports"
options=
if ! grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h"; then
  options=--no-libnbd
elif nbdkit file --version > "$dir/stdout" 2>&1; then
  start_nbdkit file dir="$dir/exports"
  options="--socket $socket"
fi
"$PYTHON" "$abs_top_srcdir/tests/blksum/matrix.py" --dir "$dir" $options ||
  fail "see above"

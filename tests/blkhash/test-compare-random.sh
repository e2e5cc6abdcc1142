#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare finds where the bytes of two random images differ: see
# compare-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/../functions.sh"

rounds 10 60 20
options=
if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
   command -v qemu-img > "$dir/stdout" && command -v qemu-nbd > "$dir/stdout"
then
  options=--qemu
fi
mkdir "$dir/images"
"$PYTHON" "$abs_top_srcdir/tests/blkhash/compare-random.py" \
  --dir "$dir/images" $options || fail "see above"

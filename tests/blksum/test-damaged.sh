#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Damaged and crafted lists of checksums and manifests, cut at any byte or with
# any bit flipped: every job that reads them exits with status 2, prints an
# error, and uses little memory.  See damaged.py, which reads
# BLKHASH_SEED from the environment.

. "$(dirname "$0")/../functions.sh"

how="--memory 65536"
if [ -n "$wrapper" ] || [ "$SANITIZE" != no ]; then
  how=--short
fi
"$PYTHON" "$abs_top_srcdir/tests/blksum/damaged.py" --dir "$dir" $how ||
  fail "see above"

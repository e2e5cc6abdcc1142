#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lists of checksums and manifests that are damaged or made to deceive, every
# one that comes of cutting or of a bit flipped: exit status 2, a message, and
# little memory, whatever they are used for.  See blksum-damaged.py, which takes
# BLKHASH_SEED from the environment.

. "$(dirname "$0")/functions.sh"

how="--memory 65536"
if [ -n "$wrapper" ] || [ "$SANITIZE" != no ]; then
  how=--short
fi
"$PYTHON" "$abs_top_srcdir/tests/blksum-damaged.py" --dir "$dir" $how ||
  fail "see above"

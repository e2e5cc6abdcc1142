#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# With random operands of --image-opts, qemu opens what they describe.  See
# image-opts-random.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS from the
# environment.

. "$(dirname "$0")/functions.sh"
requires_qemu
[ "$PYTHON" != no ] || skip "python3 is missing"

rounds 10 80 20
"$PYTHON" "$abs_top_srcdir/tests/image-opts-random.py" "$dir"

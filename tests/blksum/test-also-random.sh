#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The digests of blksum --also of random images: see also-random.py, which reads
# BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"

FORMATS="raw raw pipe"
missing=
if ! (requires_nbdkit file) > "$dir/skipped"; then
  missing="$missing nbdkit"
else
  FORMATS="$FORMATS nbd"
fi
if ! (requires_qemu) > "$dir/skipped"; then
  missing="$missing qemu"
else
  FORMATS="$FORMATS qcow2 qcow2 compressed vmdk vhdx vdi vpc"
fi
export FORMATS
rounds 12 500 100
"$PYTHON" "$abs_top_srcdir/tests/blksum/also-random.py" "$dir"
[ -z "$missing" ] || skip "only raw images: without$missing"

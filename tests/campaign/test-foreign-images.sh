#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Images that other programs made have the sum of the disk that qemu reads, also if they
# are damaged: see foreign-images.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS.  The
# images are those of fetch-samples, in $BLKHASH_SAMPLES or its default directory.

. "$(dirname "$0")/../functions.sh"
requires_qemu
samples=${BLKHASH_SAMPLES:-${XDG_CACHE_HOME:-$HOME/.cache}/blkhash/samples}
[ -d "$samples" ] || skip "no images in $samples: run fetch-samples"

part=
is_long || part="--part 6"
rounds 10 1000 100
"$PYTHON" "$abs_top_srcdir/tests/campaign/foreign-images.py" "$samples" "$dir" $part

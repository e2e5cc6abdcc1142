#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# With -o null, which keeps nothing of what is written and is larger than any
# disk, there is a sum with --no-reread.

. "$(dirname "$0")/../v2v-functions.sh"

# What nbdcopy is to write, from its source.
BEFORE_COPY="$real_nbdcopy -- \"\$1\" '$dir/written'"
v2v 0 --no-reread virt-v2v -i disk "$dir/guest.img" -o null
cat "$dir/stdout" "$dir/stderr"
grep -q "^blk-sha256/64k (nbd+unix:.*) = $(reference "$dir/written")\$" \
     "$dir/sums" || fail "not the sum: $(cat "$dir/sums")"
nothing_left

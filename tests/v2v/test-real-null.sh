#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# With -o null, which keeps no data and is larger than any disk, there is a sum
# with --no-reread.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/real-functions.sh"

# The data that nbdcopy writes, from its source.
BEFORE_COPY="$real_nbdcopy -- \"\$1\" '$dir/written'"
v2v 0 --no-reread virt-v2v -i disk "$dir/guest.img" -o null
cat "$dir/stdout" "$dir/stderr"
grep -q "^blk-sha256/64k (nbd+unix:.*) = $(reference "$dir/written")\$" \
     "$dir/sums" || fail "the sum differs: $(cat "$dir/sums")"
nothing_left

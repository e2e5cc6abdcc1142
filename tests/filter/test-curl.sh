#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The filter hashes a disk on a web server.

. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit curl

make_image "$dir/image"
serve_web "$dir"

serve curl "$web/image" \
      blkhash-file="$sums" blkhash-name=image
copy "$uri" "$dir/copy"
cmp "$dir/image" "$dir/copy" || fail "the copy differs"
wait_for_sum "$dir/image" image
stop

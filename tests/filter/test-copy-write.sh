#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdcopy writes a disk through the filter: the sum is right.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"
size=8388608

# From a file: to an empty disk, to zeros that are not written again, and over
# other data.
for options in "" "--synchronous" "-C 1" "--request-size=4096" \
               "--destination-is-zero" "--destination-is-zero --allocated"; do
  serve memory $size blkhash-file="$sums"
  copy $options "$dir/image" "$uri"
  wait_for_sum "$dir/image"
  stop
done
serve memory $size blkhash-file="$sums"
copy "$dir/image" "$uri"
write_data "$dir/image" 3000000 3000000
copy "$dir/image" "$uri"
wait_for_sum "$dir/image"
stop

# Nothing is read back.
truncate -s $size "$dir/new"
serve --filter=stats file "$dir/new" statsfile="$dir/stats" blkhash-file="$sums"
copy "$dir/image" "$uri"
wait_for_sum "$dir/image"
stop
! grep '^read:' "$dir/stats" || fail "the filter read"

# From standard input: in order, on one connection.
serve memory $size blkhash-file="$sums"
copy - "$uri" < "$dir/image"
wait_for_sum "$dir/image"
stop

# From server to server, both with the filter.
truncate -s $size "$dir/copy"
serve file "$dir/image" blkhash-file="$dir/source.sums"
source=$uri source_server=$server
serve file "$dir/copy" blkhash-file="$sums"
copy "$source" "$uri"
cmp "$dir/image" "$dir/copy" || fail "the copy differs"
wait_for_sum "$dir/copy"
stop
sums=$dir/source.sums
wait_for_sum "$dir/image"
server=$source_server
stop

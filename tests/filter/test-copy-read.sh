#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The result file has the right sum, and the copy equals the disk, for all ways
# in which nbdcopy reads a disk.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"

# copies OPTION...: nbdcopy reads from a new server.
copies () {
  serve file "$dir/image" blkhash-file="$sums"
  copy "$@" "$uri" "$dir/copy"
  cmp "$dir/image" "$dir/copy" || fail "the copy differs"
  wait_for_sum "$dir/image"
  stop
  wait_for_sum "$dir/image"
}

copies
copies --synchronous
copies --no-extents
copies --allocated
copies -C 1
copies -C 8
copies --requests 1
copies --requests 256
for size in 4096 65536 262144 33554432; do
  copies --request-size $size
done

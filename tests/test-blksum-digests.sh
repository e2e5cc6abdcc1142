#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every digest of the list has the sum of the reference, for a small image with
# data, zeros, a hole and a short last block.

. "$(dirname "$0")/functions.sh"

truncate -s 41000 "$dir/image"
write_data "$dir/image" 0 9000
write_zeros "$dir/image" 9000 10000
write_data "$dir/image" 40000 1000

digests=$(blksum --list-digests)
count=0
for digest in $digests; do
  sum=$(reference -d $digest -b 4096 "$dir/image" 2> "$dir/reason")
  if [ -s "$dir/reason" ]; then
    # Python may be built with another OpenSSL than the library.
    grep -q "no digest" "$dir/reason" || fail "$(cat "$dir/reason")"
    echo "not in the reference: $digest"
    continue
  fi
  prints_sum "$sum" blksum -d $digest -b 4k "$dir/image"
  prints_sum "$(reference -d $digest -b 4096 -s 4 "$dir/image")" \
             blksum -d $digest -b 4k --streams 4 "$dir/image"
  count=$((count + 1))
done
[ $count -ge 12 ] || fail "only $count digests were tested"

# The sum of null is empty, in one block and in many, by name and from a pipe.
for options in "" "-b 4" "-b 4 -t 8" "--streams 4" "--no-extents"; do
  prints_sum "" blksum -d null $options "$dir/image"
  [ "$(cat "$dir/stdout")" = "  $dir/image" ] || fail "null is not empty"
  run 0 sh -c 'cat "$1" | blksum -d null $2' - "$dir/image" "$options"
  [ "$(cat "$dir/stdout")" = "  -" ] || fail "null is not empty, from a pipe"
done

# Case and the aliases of OpenSSL.
sum=$(reference "$dir/image")
for alias in SHA256 Sha256 SHA2-256 sha-256; do
  prints_sum "$sum" blksum -d $alias "$dir/image"
done

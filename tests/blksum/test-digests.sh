#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each digest of the list computes the sum of the reference, for a small image
# with data, zeros, a hole and a short last block.

. "$(dirname "$0")/../functions.sh"

truncate -s 41000 "$dir/image"
write_data "$dir/image" 0 9000
write_zeros "$dir/image" 9000 10000
write_data "$dir/image" 40000 1000

digests=$(blksum --list-digests)
count=0
for digest in $digests; do
  sum=$(reference -d $digest -b 4096 "$dir/image" 2> "$dir/reason")
  if [ -s "$dir/reason" ]; then
    # The OpenSSL of Python may differ from that of the library.
    grep -q "no digest" "$dir/reason" || fail "$(cat "$dir/reason")"
    echo "not in the reference: $digest"
    continue
  fi
  prints_sum "$sum" blksum -d $digest -b 4k "$dir/image"
  prints_sum "$(reference -d $digest -b 4096 -s 4 "$dir/image")" \
             blksum -d $digest/4k/s4 "$dir/image"
  count=$((count + 1))
done
[ $count -ge 12 ] || fail "only $count digests were tested"

# docs/construction.md: no flat sum is a linear sum of another disk, because the 8 bytes
# of the length are shorter than a leaf, except of these.
for digest in $digests; do
  sum=$(blksum -d $digest --no-names "$dir/image")
  [ ${#sum} -gt 16 ] || [ $digest = null ] || [ $digest = xxh64 ] ||
    fail "a leaf of $digest is not longer than the length"
done

# The sum of "null" is empty, for one block and many, by name and from a pipe.
for options in "" "-b 4" "-b 4 -t 8" "--no-extents"; do
  prints_sum "" blksum -d null $options "$dir/image"
  [ "$(cat "$dir/stdout")" = "  $dir/image" ] || fail "null is not empty"
  run 0 sh -c 'cat "$1" | blksum -d null $2' - "$dir/image" "$options"
  [ "$(cat "$dir/stdout")" = "  -" ] || fail "null is not empty, from a pipe"
done

# Upper case, and the aliases of OpenSSL.
sum=$(reference "$dir/image")
for alias in SHA256 Sha256 SHA2-256 sha-256; do
  prints_sum "$sum" blksum -d $alias "$dir/image"
done

# With the block size, as in nbdcopy --blkhash=.
sum=$(reference -d sha512 -b 4096 "$dir/image")
for options in "-d sha512/4k" "-d SHA512/4K" "-d sha512/4096 -b 4k" \
               "-b 4096 --digest=sha512/4k" "-d md5/1m -d sha512/4k" \
               "-b 4k -d md5/4k -d sha512"; do
  prints_sum "$sum" blksum $options "$dir/image"
done
# The last --digest overrides all parts of earlier ones.
prints_sum "$(reference -d sha512 "$dir/image")" \
           blksum -d md5/1m -d sha512 "$dir/image"
prints_sum "$(reference -d md5 -b 512 -s 4 "$dir/image")" \
           blksum -d sha512/4k/linear -d md5/512/s4 "$dir/image"
prints_sum "$(reference -d md5 -b 512 "$dir/image")" \
           blksum -b 512 -d sha512/512/s4 -d md5 "$dir/image"
run 0 blksum --tag --no-names -d sha512/4k "$dir/image"
echo "blk-sha512/4k = $sum" | cmp - "$dir/stdout" || fail "the tag differs"
refuses "different block sizes" blksum -d sha512/4k -b 64k "$dir/image"
refuses "different block sizes" blksum -b 64k -d sha512/4k "$dir/image"
for size in 2 5000 32m 1g 99999999999999999999; do
  refuses "power of two" blksum -d sha512/$size "$dir/image"
done
for digest in sha513/4k blk- blk-blk-sha512 blk-sha513; do
  refuses "unknown digest '$digest'" blksum -d $digest "$dir/image"
done
for digest in /4k sha512/ sha512/4k/ sha512/4x sha512//4k sha512/s64 sha512/linear \
              sha512/4k/s0 sha512/4k/s sha512/4k/s-1 sha512/4k/s1k \
              sha512/4k/64 sha512/4k/linearly sha512/4k/linear/x \
              sha512/4k/s64/linear; do
  refuses "'$digest' is not DIGEST" blksum -d $digest "$dir/image"
done
for streams in 1025 99999999999999999999; do
  refuses "more than 1024 streams" blksum -d sha512/4k/s$streams "$dir/image"
done
# This is a name of OpenSSL, not a digest with a block size.
prints_sum "$(reference -d sha512-256 "$dir/image")" \
           blksum -d SHA2-512/256 "$dir/image"

# nbdcopy itself, if it is as new.
if command -v nbdcopy > /dev/null && nbdcopy --help | grep -q -e --blkhash; then
  for spec in sha256/64k sha512/4k md5/16m; do
    run 0 nbdcopy --blkhash=$spec -- "$dir/image" null:
    grep -q "$(reference $(of_spec $spec) "$dir/image")" "$dir/stdout" ||
      fail "nbdcopy --blkhash=$spec prints another sum"
  done
fi

# nbdcopy --blkhash-file writes the sum alone: these were written by version
# 1.24.
printf hello > "$dir/hello"
nbdcopy_wrote () {
  run 0 blksum --no-names -d $1 "$dir/hello"
  echo "$2" | cmp - "$dir/stdout" || fail "not the output of nbdcopy"
}
nbdcopy_wrote sha256 \
  337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6
nbdcopy_wrote md5/4 8262896de34125dec173722c920e8bd0
nbdcopy_wrote md5/1M f741ac9ce55f5325906bb14e9c05d467

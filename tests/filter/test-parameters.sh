#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The parameters of the filter have the documented effect.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"

# hashes SPEC "REFERENCE OPTIONS" [PARAMETER]...: the result file has the sum of
# SPEC.
hashes () {
  spec=$1
  wanted=$(reference $2 "$dir/image")
  shift 2
  rm -f "$sums"
  serve file "$dir/image" blkhash-file="$sums" "$@"
  copy "$uri" null:
  wait_for_line "$(sum_line "$wanted" - $spec)"
  stop
  prints_sum "$wanted" blksum -d $spec "$dir/image"
}
hashes sha256/64k ""
for digest in md5 sha512 sha3-256 blake2b512 shake128 blake2b-256 null; do
  hashes $digest/64k "-d $digest" blkhash-digest=$digest
done
hashes sha256/4k "-b 4k" blkhash-block-size=4k
hashes sha256/16m "-b 16m" blkhash-block-size=16M
hashes sha512/512k "-d sha512 -b 512k" blkhash-digest=sha512/512K
hashes sha512/512k "-d sha512 -b 512k" blkhash-digest=blk-sha512/512k
hashes md5/4k "-d md5 -b 4k" blkhash-block-size=4096 blkhash-digest=md5/4k
hashes sha1/512 "-d sha1 -b 512" blkhash-block-size=512 blkhash-digest=sha1
hashes sha256/64k/s64 "-s 64" blkhash-digest=sha256/64k/s64
hashes sha256/4k/s1024 "-s 1024 -b 4k" blkhash-digest=blk-sha256/4k/s1024
hashes sha1/64k/s1 "-d sha1 -s 1" blkhash-digest=sha1/64k/s1 \
       blkhash-block-size=64k
hashes sha256/4m/linear "--linear -b 4m" blkhash-digest=sha256/4M/linear

# The filter has the digests of blksum.
for digest in $(blksum --list-digests); do
  run 0 nbdkit -U - --filter="$filter" null 1000 \
      blkhash-digest="$digest" --run 'nbdcopy $uri null:'
  truncate -s 1000 "$dir/zeros"
  prints_sum "$(sed 's/.* = //' "$dir/stderr")" blksum -d "$digest" "$dir/zeros"
done

# The lines without a tag.
wanted=$(reference -d md5 -b 4k -s 3 "$dir/image")
for tag in true false; do
  rm -f "$sums"
  serve file "$dir/image" blkhash-file="$sums" blkhash-tag=$tag \
        blkhash-digest=md5/4k/s3 blkhash-name="a b"
  copy "$uri" null:
  if [ $tag = true ]; then
    wait_for_line "$(sum_line "$wanted" "a b" md5/4k/s3)"
  else
    wait_for_line "$wanted  a b"
  fi
  stop
done

# Blocks that no client read or wrote.
rm -f "$sums"
serve --filter=stats file "$dir/image" blkhash-file="$sums" \
      blkhash-missing=fail statsfile="$dir/stats"
client "" 'h.pread(h.get_size() - 1 - 608, 0)'
wait_for_line '# unknown -: 609 bytes are missing'
client "" 'h.pread(609, h.get_size() - 609)'
wait_for_sum "$dir/image"
client "" 'h.trim(4096, 0)'
wait_for_match '^# unknown -: '
stop
grep -q '^read: 2 ops' "$dir/stats" || fail "$(cat "$dir/stats")"
serve file "$dir/image" blkhash-file="$sums" blkhash-missing=fail \
      blkhash-missing=read
client "" 'h.pread(h.get_size() // 2 + 5 * 65536, 0)'
wait_for_sum "$dir/image"
stop

form='is not DIGEST\[/SIZE\[/sN|/linear\]\]; blksum --list-digests'
for spec in sha257 '' blk- SHA256/64k/ md5/s3 md5/4k/s0 md5/4k/s3x md5/4k/streams \
            sha256/4k/linear/s3 sha257/64k 'sha256 64k'; do
  refuses_to_start "blkhash-digest: '$spec' $form" null blkhash-digest="$spec"
done
refuses_to_start "'md5/4k/s1025' has more than 1024 streams" null \
                 blkhash-digest=md5/4k/s1025
for size in 1 2 3 5000 32M 99999999999; do
  refuses_to_start 'blkhash-digest: the block size is not a power of two from 4' \
                   null blkhash-digest=md5/$size
done
refuses_to_start 'blkhash-digest and blkhash-block-size give different' null \
                 blkhash-digest=md5/4k blkhash-block-size=8k
for size in 0 1 2 3 5000 32M 4G 8E x; do
  refuses_to_start '' null blkhash-block-size=$size
done
refuses_to_start 'blkhash-streams is now: blkhash-digest=DIGEST/SIZE/sN, such as sha256/64k/s64' \
                 null blkhash-streams=64
refuses_to_start 'blkhash-linear is now: blkhash-digest=DIGEST/SIZE/linear' \
                 null blkhash-linear=true
refuses_to_start 'blkhash-update-audit is now: blkhash-audit$' \
                 null blkhash-update-audit=1%
refuses_to_start 'read or fail' null blkhash-missing=maybe
refuses_to_start '' null blkhash-tag=maybe
refuses_to_start '' null blkhash-distinct-exports=maybe
refuses_to_start 'blkhash-nothing' null blkhash-nothing=1
run 0 nbdkit --filter="$filter" null --help
for parameter in file manifest digest name tag missing update audit \
                 distinct-exports; do
  grep -q "blkhash-$parameter=" "$dir/stdout" || fail "no help of $parameter"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The parameters of the filter have the documented effect.

. "$(dirname "$0")/filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"

# hashes "BLKSUM OPTIONS" "REFERENCE OPTIONS" PARAMETER...: all give the same
# sum.
hashes () {
  blksum_options=$1
  wanted=$(reference $2 "$dir/image")
  shift 2
  rm -f "$sums"
  serve file "$dir/image" blkhash-file="$sums" "$@"
  copy "$uri" null:
  wait_for_line "$wanted  -"
  stop
  prints_sum "$wanted" blksum $blksum_options "$dir/image"
}
hashes "" ""
for digest in md5 sha512 sha3-256 blake2b512 shake128 blake2b-256 null; do
  hashes "-d $digest" "-d $digest" blkhash-digest=$digest
done
hashes "-b 4k" "-b 4k" blkhash-block-size=4k
hashes "-b 16m" "-b 16m" blkhash-block-size=16M
hashes "-b 512" "-b 512" blkhash-block-size=512
hashes "-d sha512/512k" "-d sha512 -b 512k" blkhash-digest=sha512/512k
hashes "-d md5/4k" "-d md5 -b 4k" blkhash-block-size=4k blkhash-digest=md5/4k
hashes "-d sha256/64k/s64" "-s 64" blkhash-streams=64
hashes "-d sha256/4k/s1024" "-s 1024 -b 4k" blkhash-streams=1024 \
       blkhash-block-size=4096
hashes "-d sha1/64k/s1" "-d sha1 -s 1" blkhash-digest=sha1 \
       blkhash-streams=1
hashes "-d sha256/64k/linear" "--linear" blkhash-linear=true
hashes "-d sha256/4m/linear" "--linear -b 4m" blkhash-linear=1 \
       blkhash-block-size=4M
hashes "" "" blkhash-linear=false

# The filter has the digests of blksum.
for digest in $(blksum --list-digests); do
  run 0 nbdkit -U - --filter="$filter" null 1000 \
      blkhash-digest="$digest" --run 'nbdcopy $uri null:'
  truncate -s 1000 "$dir/zeros"
  prints_sum "$(cut -d' ' -f1 < "$dir/stderr")" blksum -d "$digest" "$dir/zeros"
done

# tagged LINE PARAMETER...: the result file has LINE.
tagged () {
  line=$1
  shift
  rm -f "$sums"
  serve file "$dir/image" blkhash-file="$sums" blkhash-tag=true "$@"
  copy "$uri" null:
  wait_for_line "$line"
  stop
}
tagged "blk-sha256/64k (-) = $(reference "$dir/image")"
tagged "blk-md5/4k/s3 (a b) = $(reference -d md5 -b 4k -s 3 "$dir/image")" \
       blkhash-digest=md5 blkhash-block-size=4k blkhash-streams=3 \
       blkhash-name="a b"
tagged "blk-sha256/512k/linear (-) = $(reference -b 512k --linear "$dir/image")" \
       blkhash-block-size=512k blkhash-linear=true

# Blocks that no client read or wrote.
rm -f "$sums"
serve --filter=stats file "$dir/image" blkhash-file="$sums" \
      blkhash-missing=fail statsfile="$dir/stats"
client "" 'h.pread(h.get_size() - 1 - 608, 0)'
wait_for_line '# incomplete -: the content of 609 bytes is not known'
client "" 'h.pread(609, h.get_size() - 609)'
wait_for_sum "$dir/image"
client "" 'h.trim(4096, 0)'
wait_for_match '^# incomplete -: '
stop
grep -q '^read: 2 ops' "$dir/stats" || fail "$(cat "$dir/stats")"
serve file "$dir/image" blkhash-file="$sums" blkhash-missing=fail \
      blkhash-missing=read
client "" 'h.pread(h.get_size() // 2 + 5 * 65536, 0)'
wait_for_sum "$dir/image"
stop

refuses_to_start 'unknown digest: sha257' null blkhash-digest=sha257
refuses_to_start 'unknown digest: ' null blkhash-digest=
refuses_to_start 'unknown digest: md5/4k/s3' null blkhash-digest=md5/4k/s3
refuses_to_start 'power of two' null blkhash-digest=md5/5000
refuses_to_start 'the block sizes of' null blkhash-digest=md5/4k \
                 blkhash-block-size=8k
for size in 0 1 2 3 5000 32M 4G 8E x; do
  refuses_to_start '' null blkhash-block-size=$size
done
for streams in 1025 -1 x 99999999999; do
  refuses_to_start '' null blkhash-streams=$streams
done
refuses_to_start '' null blkhash-linear=maybe
refuses_to_start 'blkhash-linear cannot be used with blkhash-streams' \
                 null blkhash-linear=true blkhash-streams=1
refuses_to_start 'read or fail' null blkhash-missing=maybe
refuses_to_start '' null blkhash-tag=maybe
refuses_to_start '' null blkhash-distinct-exports=maybe
refuses_to_start 'blkhash-nothing' null blkhash-nothing=1
run 0 nbdkit --filter="$filter" null --help
for parameter in file manifest digest block-size streams linear name tag missing \
                 distinct-exports; do
  grep -q "blkhash-$parameter=" "$dir/stdout" || fail "no help of $parameter"
done

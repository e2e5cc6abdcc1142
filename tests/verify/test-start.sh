#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter starts only if its parameters are complete, and the manifest
# has the sum.  All sums and constructions that blksum prints are taken.

. "$(dirname "$0")/../verify-functions.sh"
requires_no_sanitizer

prove "$image"
good=blkhash-verify-manifest=$manifest

# refuses REGEX ARGUMENT...
refuses () {
  regex=$1
  shift
  refuses_to_start "$regex" file "$image" "$@"
}

refuses 'blkhash-verify-manifest is missing'
refuses 'blkhash-verify-manifest is missing' blkhash-verify-sum=none
refuses 'blkhash-verify-sum is missing; give the sum that proves the manifest' \
        "$good"
refuses 'blkhash-verify-sum: there is no sum' "$good" blkhash-verify-sum=
refuses 'blkhash-verify-sum: it is the sum of a file' "$good" \
        blkhash-verify-sum="sha256:$(reference "$image")"
refuses 'manifest: its sum is not blkhash-verify-sum' "$good" \
        blkhash-verify-sum="blk-sha256/64k:$(reference "$dir/stdout")"
refuses 'is not that of blkhash-verify-sum' "$good" \
        blkhash-verify-sum="blk-sha256/4k:$(reference -b 4k "$image")"
refuses 'is not that of blkhash-verify-sum' "$good" \
        blkhash-verify-sum="blk-sha256/64k/linear:$(
          reference --linear "$image")"
refuses 'unknown value: never' "$good" blkhash-verify-sum=none \
        blkhash-verify-fail=never
refuses 'must be from 0 to 1000' "$good" blkhash-verify-sum=none \
        blkhash-verify-retry=2000
refuses 'can be given only once' "$good" blkhash-verify-sum=none \
        --filter="$filter"
refuses "$dir/none: No such file" blkhash-verify-manifest="$dir/none" \
        blkhash-verify-sum=none
refuses "$dir: not a regular file" blkhash-verify-manifest="$dir" \
        blkhash-verify-sum=none
refuses 'not a blkhash manifest' blkhash-verify-manifest="$image" \
        blkhash-verify-sum=none

# Damaged, cut off, and that of a part.
cp "$manifest" "$dir/bad"
flip "$dir/bad" 600
refuses 'the record at byte 512 has a wrong CRC' \
        blkhash-verify-manifest="$dir/bad" blkhash-verify-sum=none
head -c 700 "$manifest" > "$dir/bad"
refuses 'the manifest is cut off' \
        blkhash-verify-manifest="$dir/bad" blkhash-verify-sum=none
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write --part 1/2 "$image" \
  > "$dir/bad"
refuses 'it has only a part of an image' \
        blkhash-verify-manifest="$dir/bad" blkhash-verify-sum=none

# What blksum writes and prints, of all kinds; nbdkit is started in another
# directory than the one that it serves from.
cd "$dir"
for kind in "" "-d md5 -b 4k" "-d blake2b512 -b 4" "-b 16m" \
            "-d sha256/64k/s7" "-d sha256/64k/linear" "-d sha512/1m/s1024"; do
  [ "$kind" != "-d blake2b512 -b 4" ] || truncate -s 100001 image
  rm -f m.blkm
  blksum $kind --tag --manifest m.blkm image > sum
  # One sum with a name that is escaped.
  cp image 'a\b'
  escaped=$(blksum $kind --tag 'a\b')
  for sum in "$(cat sum)" "$escaped" none; do
    serve file image blkhash-verify-manifest=m.blkm blkhash-verify-sum="$sum"
    copies
    stop
  done
  make_image "$image"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --tag, --no-names and --zero change the format of a line; they can be
# combined.

. "$(dirname "$0")/../functions.sh"

printf hello > "$dir/a"
printf third > "$dir/b"
cd "$dir"

# prints LINES COMMAND: exactly these lines.
prints () {
  printf '%b' "$1" > "$dir/expected"
  shift
  run 0 "$@"
  cmp "$dir/expected" "$dir/stdout" || fail "wrong output of $*"
}

a=$(reference a)
b=$(reference b)
prints "$a  a\n$b  b\n" blksum a b
prints "$a  a\n$b  b\n" blksum --output=human a b
prints "$a\n$b\n" blksum --no-names a b
prints "$a  a\0000$b  b\0000" blksum -z a b
prints "$a\0000$b\0000" blksum -z --no-names a b
prints "blk-sha256/64k (a) = $a\n" blksum --tag a
prints "blk-sha256/64k = $a\n" blksum --tag --no-names a
prints "blk-sha256/64k (a) = $a\0000" blksum --tag --zero a

# The block size in its largest exact unit, the canonical name of the digest,
# the streams.
for size in 4:4 512:512 1k:1024 1024:1024 4k:4096 128k:131072 1m:1048576 \
            1024k:1048576 16m:16777216; do
  case ${size%:*} in
    1024) unit=1k ;;
    1024k) unit=1m ;;
    *) unit=${size%:*} ;;
  esac
  prints "blk-sha256/$unit (a) = $(reference -b ${size#*:} a)\n" \
         blksum --tag -b ${size%:*} a
done
prints "blk-md5/64k (a) = f741ac9ce55f5325906bb14e9c05d467\n" \
       blksum --tag -d MD5 a
prints "blk-sha512/4k (a) = $(reference -d sha512 -b 4096 a)\n" \
       blksum -b 4K -d SHA2-512 --tag a
prints "blk-sha256/64k/s64 (a) = $(reference -s 64 a)\n" \
       blksum --tag -d sha256/64k/s64 a
prints "blk-sha1/64k/s4 (a) = $(reference -d sha1 -s 4 a)\n" \
       blksum --tag -d sha1/64k/s4 a
prints "blk-sha256/4m/linear (a) = $(reference -b 4m --linear a)\n" \
       blksum -d sha256/4m/linear --tag a
prints "blk-md5/64k/linear (a) = $(reference -d md5 --linear a)\n" \
       blksum -d md5/64k/linear --tag a

# The digest "null" has an empty sum.
prints "  a\n  b\n" blksum -d null a b
prints "\n\n" blksum -d null --no-names a b
prints "blk-null/64k (a) = \n" blksum -d null --tag a

# The last --output counts; --tag is for the human form.
prints "blk-sha256/64k (a) = $a\n" blksum --tag --output json --output human a

# Short options can be combined, and can follow operands.
prints "blk-md5/4k (a) = $(reference -d md5 -b 4096 a)\0000" \
       blksum -Uzb4k --tag a -dmd5 -t3

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair refuses another disk than that of the manifest, also if most of
# both is zeros: the limit is a share of the blocks with data in the manifest, and all
# bad blocks count.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

cd "$dir"
requires_direct

# sparse FILE FIRST COUNT: a disk of 32 MiB, in blocks of 4 KiB, with so many blocks of
# data from block FIRST on.
sparse () {
  rm -f "$1"
  truncate -s 32m "$1"
  write_data "$1" $(($2 * 4096)) $(($3 * 4096))
}

# with STATUS MANIFEST DISK [OPTION]...: repairs DISK, if it may.
with () {
  wanted_status=$1 manifest=$2 disk=$3
  shift 3
  run "$wanted_status" blkhash repair --manifest "$manifest" --sum none \
    --from good "$@" "$disk"
}

# refused OUTPUT MANIFEST DISK [OPTION]...
refused () {
  refused_output=$1 refused_disk=$3
  shift
  cp --sparse=always "$refused_disk" before
  with 2 "$@"
  says_once "$refused_disk: $refused_output: it may be another disk; nothing was written; --limit allows more$"
  same "$refused_disk" before
}

# repaired OUTPUT MANIFEST DISK [OPTION]...
repaired () {
  repaired_output=$1
  shift
  with 0 "$@"
  [ "$(cat stdout)" = "$2: OK ($repaired_output)" ] || fail "not repaired"
  same "$2" good
}

# ---- Another disk with 32 blocks of data: less than a percent of 8192 blocks ----

sparse good 100 32
blksum -b 4k --manifest blkm good > stdout
# Where the good disk has zeros, in the same blocks, and nowhere.
sparse elsewhere 5000 32
sparse same 100 32
write_data same 409700 100000
sparse blank 0 0
refused "2 of its first 102 blocks differ, more than 1% of the 32 with data in the manifest" \
  blkm elsewhere
refused "2 of its first 102 blocks differ, more than 1% of the 32 .*" blkm blank
refused "2 of its first .* more than 1% of the 32 .*" blkm same

# Its data, and more: what must be zeros counts, too.
sparse more 100 32
write_data more $((6103 * 4096)) 8192
refused "2 of its first 6105 blocks differ, more than 1% of the 32 .*" blkm more
refused "2 of its first 6105 blocks differ, more than 6.24% of the 32 .*" blkm more \
  --limit 6.24%
repaired "2 blocks repaired" blkm more --limit 6.25%

# ---- A few blocks of data: one may be bad, but not with 0% ----

cp --sparse=always good disk
damage_blocks 4096 disk 110
refused "1 of its first 111 blocks differs, more than 0% of the 32 .*" blkm disk \
  --limit 0%
repaired "1 block repaired" blkm disk
damage_blocks 4096 disk 8000
repaired "1 block repaired" blkm disk --limit 0.00001%

# ---- One percent of 299 blocks ----

sparse good 100 299
blksum -b 4k --manifest blkm good > stdout
cp --sparse=always good disk
damage_blocks 4096 disk 110 8000
repaired "2 blocks repaired" blkm disk
damage_blocks 4096 disk 110 8000 8191
refused "3 of its first 8192 blocks differ, more than 1% of the 299 .*" blkm disk

# ---- A manifest without data: nothing may be bad, unless there is no limit ----

sparse good 0 0
blksum -b 4k --manifest blkm good > stdout
sparse disk 5 1
refused "1 of its first 6 blocks differs, more than 1% of the 0 .*" blkm disk
refused "1 of its first 6 blocks differs, more than 99.9% of the 0 .*" blkm disk \
  --limit 99.9%
repaired "1 block repaired" blkm disk --limit 100%

# ---- One block of data: it is all of the disk ----

sparse good 0 1
blksum -b 4k --manifest blkm good > stdout
cp --sparse=always good disk
damage_blocks 4096 disk 0
refused "1 of its first 1 blocks differs, more than 1% of the 1 .*" blkm disk
refused "1 of its first 1 blocks differs, more than 99.9% of the 1 .*" blkm disk \
  --limit 99.9%
repaired "1 block repaired" blkm disk --limit 100%

# ---- More bad blocks than blocks with data ----

sparse good 0 2
blksum -b 4k --manifest blkm good > stdout
sparse disk 5 3000
refused "2 of its first 2 .* more than 99.9% of the 2 .*" blkm disk \
  --limit 99.9%
repaired "3002 blocks repaired" blkm disk --limit 100%

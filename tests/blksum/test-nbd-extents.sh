#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Several ranges of extents are requested from an NBD server in parallel.  A
# request that was sent ahead and fails is repeated, and only an error of the
# repeated request counts: its range is then read.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit eval

size=$((20 * 1024 * 1024 * 1024))
range=$((2 * 1024 * 1024 * 1024))
third=$((2 * range))
printf 'data at the start of a range' > "$dir/data"
truncate -s "$size" "$dir/image"
for offset in 0 "$third"; do
  dd if="$dir/data" of="$dir/image" bs=1 seek=$offset conv=notrunc status=none
done
sum=$(blksum --no-names "$dir/image")

# The answer about the second range waits until the two behind it were asked
# for; the third fails so often.
export dir range third
start_nbdkit eval thread_model='echo parallel' can_multi_conn='exit 3' \
  get_size="echo $size" can_extents='exit 0' \
  extents='
    echo $4 >> $dir/asked
    case $4 in
    $range)
      for i in $(seq 1200); do
        grep -qx $third $dir/asked && grep -qx $((3 * range)) $dir/asked &&
          touch $dir/ahead && break
        sleep 0.05
      done ;;
    $third)
      n=$(grep -cx $4 $dir/asked)
      if [ $n -le $(cat $dir/failures) ]; then echo EIO failed >&2; exit 1; fi
      ;;
    esac
    if [ $(($4 % third)) = 0 -a $4 -le $third ]; then
      echo $4 65536
      echo $(($4 + 65536)) $(($3 - 65536)) hole,zero
    else
      echo $4 $3 hole,zero
    fi' \
  pread='dd if=$dir/image skip=$4 count=$3 iflag=skip_bytes,count_bytes \
         status=none'

# hash STATUS FAILURES: of the third range.
hash () {
  rm -f "$dir/asked" "$dir/ahead"
  echo "$2" > "$dir/failures"
  run "$1" blksum --no-names "$uri"
  [ -e "$dir/ahead" ] || fail "one range after the other was asked for"
}

hash 0 0
[ "$(cat "$dir/stdout")" = "$sum" ] || fail "not $sum"
[ "$(sort "$dir/asked" | uniq -d)" = "" ] || fail "asked twice"

hash 0 1
[ "$(cat "$dir/stdout")" = "$sum" ] || fail "not $sum"
[ "$(sort "$dir/asked" | uniq -d)" = "$third" ] || fail "not asked again"

# If the repeated request fails, the range is read, and the next is asked for.
hash 0 100
[ "$(cat "$dir/stdout")" = "$sum" ] || fail "not $sum"
says_once "cannot get extents at offset $third"
grep -qx $((9 * range)) "$dir/asked" || fail "no more were asked for"

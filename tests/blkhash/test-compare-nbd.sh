#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare reads NBD exports, and never leaves a server in a bad state.

. "$(dirname "$0")/../functions.sh"
requires_nbd
cd "$dir"

make_image a.raw
cp a.raw b.raw
printf x | dd of=b.raw bs=1 seek=70000 conv=notrunc status=none
blksum --manifest a.blkm a.raw > /dev/null
blksum --manifest b.blkm b.raw > /dev/null

# With -q it ends while reads are in flight.  It waits for the replies, because
# some servers crash if it does not, but not forever.
for fault in first late; do
  rm -f reached
  start_evil_server a.raw $fault "$dir/reached"
  run 1 timeout $limit blkhash compare -q manifest:b.blkm "$uri"
  wait_until test -e reached
  read -r unanswered seconds < reached
  [ "$unanswered" = 0 ] || [ "$seconds" -ge 5 ] ||
    fail "ended after $seconds s, with $unanswered reads in flight"
  stop_evil_server
done

requires_nbdkit file
start_nbdkit file a.raw
for a in a.raw manifest:a.blkm "$uri"; do
  run 0 blkhash compare --output=json "$uri" "$a"
  grep -q '^{"ranges":\[\],.*"result":"ok"}$' stdout || fail "they differ"
  run 0 blkhash compare -q "$a" "$uri"
done
for b in b.raw manifest:b.blkm; do
  for order in "$b $uri" "$uri $b"; do
    run 1 blkhash compare --output=json $order
    grep -q '^{"ranges":\[{"start":65536,"length":65536,[^{]*}\],' stdout ||
      fail "the ranges differ"
    run 1 blkhash compare -q $order
  done
done

# One server, several times, with many reads in flight.
write_data large.raw 0 60000000
cp large.raw larger.raw
printf x | dd of=larger.raw bs=1 conv=notrunc status=none
blksum --manifest larger.blkm larger.raw > /dev/null
start_nbdkit file large.raw
for i in 1 2 3 4 5 6 7 8; do
  run 1 blkhash compare -q "$uri" manifest:larger.blkm
done
kill -0 "$server" || fail "the server died"

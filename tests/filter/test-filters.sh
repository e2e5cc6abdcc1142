#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The filter works with other filters of nbdkit, below it and above.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"

# below FILTER ARGUMENT...: copies, writes, and copies again.
below () {
  requires_nbdkit --filter="$1"
  name=$1
  shift
  serve --filter="$name" file "$dir/disk" "$@" blkhash-file="$sums"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/copy"
  client "" 'if h.get_size() >= 200000 and not h.is_read_only():
  h.pwrite(b"written" * 10000, 65536 * 2)
  h.pwrite(b"x" * 512, 512)
  if h.can_zero(): h.zero(65536, 65536)
  if h.can_trim(): h.trim(4096, 8192)'
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/copy"
  stop
  wait_for_sum "$dir/copy"
}

cp "$dir/image" "$dir/disk"
below offset offset=1024 range=5000000
below truncate truncate=10000001
below truncate round-up=1048576
below cow
below cow cow-on-cache=true
below cow cow-on-read=true
below blocksize minblock=4096 maxdata=64k
below cache
below cache cache=writeback
below cache cache-on-read=true
below retry
below multi-conn multi-conn-mode=emulate
below multi-conn multi-conn-mode=disable
below noextents
below noparallel serialize=requests
below nozero
below fua fuamode=force
below readahead
below stats statsfile="$dir/stats"
below delay wdelay=1ms delay-trim=1ms
below error error-rate=0

# Partitions of a disk that a plugin makes from two files.
cp "$dir/image" "$dir/disk2"
for partition in 1 2; do
  serve --filter=partition partitioning "$dir/disk" "$dir/disk2" \
        partition=$partition blkhash-file="$sums"
  client "" 'h.pwrite(b"written" * 10000, 65536 * 2)'
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/copy"
  stop
done

# above FILTER ARGUMENT...: the hash is that of the disk below the filter.
above () {
  above=--filter=$1
  shift
  serve file "$dir/disk" "$@" blkhash-file="$sums"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/disk"
  stop
  above=
}
above retry
above cache
above blocksize minblock=512
above noextents
above delay rdelay=1ms
above readahead
above cow
above stats statsfile="$dir/stats"
above multi-conn multi-conn-mode=emulate
above noparallel serialize=connections

# With exitlast the server ends after the last client.
above=--filter=exitlast
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait $server || fail "exit status $?"
wait_for_sum "$dir/disk"
above=
serve --filter=exitlast file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait $server || fail "exit status $?"
wait_for_sum "$dir/disk"

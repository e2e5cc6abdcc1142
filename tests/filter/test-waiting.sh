#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A client that only probes the disk does not cause a pass over it: without
# writes, missing blocks are read only if they are fewer than those that clients
# have read.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

write_data "$dir/image" 0 4194304

# has_read BYTES: the number of bytes that were read below the filter.
has_read () {
  grep -q "^read: .* $1," "$dir/stats" ||
    fail "expected $1, got $(cat "$dir/stats")"
}

start () {
  serve --filter=stats file "$dir/image" statsfile="$dir/stats" \
        blkhash-file="$sums"
}

start
run 0 nbdinfo "$uri"
run 0 nbdinfo --map "$uri"
run 0 nbdinfo --content "$uri"
run 0 nbdinfo --list "$uri"
[ ! -s "$sums" ] || fail "not empty while waiting: $(cat "$sums")"
stop
wait_for_line '# unknown -: 4194304 bytes are missing'
[ "$(without_header "$sums" | wc -l)" = 1 ] || fail "more than one line"
! grep -q '^read: .* MiB,' "$dir/stats" || fail "$(cat "$dir/stats")"

# Half of it is not enough; later reads of the other half count too.
start
client "" 'h.pread(h.get_size() // 2, 0)'
[ ! -s "$sums" ] || fail "not empty while waiting: $(cat "$sums")"
client "" 'h.pread(65536, h.get_size() - 65536)'
wait_for_sum "$dir/image"
stop
has_read '4.00 MiB'

# Blocks that are known are not read again, and a client that connects
# afterwards without requests changes nothing.
start
client "" 'h.pread(h.get_size() - 65536, 0)'
wait_for_sum "$dir/image"
run 0 nbdinfo --content "$uri"
client "" 'h.pread(1, 0)'
wait_for_sum "$dir/image"
stop
wait_for_sum "$dir/image"

# After a write the whole disk is read.
start
client "" 'h.pwrite(b"x" * 4096, 4096)'
wait_for_sum "$dir/image"
# Then only the changed blocks are read.
client "" 'h.pwrite(b"y" * 4096, 4096)'
wait_for_sum "$dir/image"
stop
has_read '4.05 MiB'

# A server that got no requests writes no result.
start
stop
[ ! -s "$sums" ] || fail "$(cat "$sums")"

# There is no sum of a part of the disk: of a block, of a copy that broke off.
start
client "" 'h.pread(1000, 0)
os = __import__("os")
os._exit(0)'
stop
no_sum

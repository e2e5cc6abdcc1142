#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Disks of any size have the right sum.

. "$(dirname "$0")/../filter-functions.sh"

for size in 0 1 1000 65535 65536 65537; do
  rm -f "$dir/disk" "$dir/copy"
  truncate -s $size "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/disk"
  if [ $size != 0 ]; then
    client "" 'h.pwrite(b"x", h.get_size() - 1)'
  fi
  wait_for_sum "$dir/disk"
  stop
  write_data "$dir/disk" 0 $size
  serve memory $size blkhash-file="$sums"
  [ $size = 0 ] || copy "$dir/disk" "$uri"
  client "" pass
  wait_for_sum "$dir/disk"
  stop
done

# A copy of an empty disk sends only requests for extents.
rm "$dir/disk"
truncate -s 1T "$dir/disk"
serve --filter=stats file "$dir/disk" statsfile="$dir/stats" \
      blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/disk"
stop
! grep -q '^read:' "$dir/stats" || fail "$(cat "$dir/stats")"

# rss: prints the memory of the server, in KiB.
rss () {
  awk '/^VmRSS/ { print $2 }' "/proc/$server/status"
}

# A huge hole takes no memory.  Its sum would take weeks, so there is none.
serve memory 9223372036854775807 blkhash-file="$sums"
client "" 'h.pwrite(b"x" * 100000, 1 << 61)'
before=$(rss)
client "" 'for i in range(8): h.block_status(0x7fffffff, i << 59, lambda *_: 0)
h.pwrite(b"y", h.get_size() - 1)
h.zero(0x7fffffff, 1 << 62)'
wait_for_line '# unknown -: it has more than 2^31 blocks'
# Nor is a trimmed range read to compute it.
client "" 'h.trim(1 << 20, 0)'
wait_until all_disconnected
! grep 'memory: pread' "$log" || fail "the disk was read"
[ -n "$nbdkit_wrapper" ] || [ $(($(rss) - before)) -lt 10000 ] || fail "memory: from $before to $(rss) KiB"
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients connect and disconnect, a thousand times in the long form.  Nothing is
# leaked.

. "$(dirname "$0")/../filter-functions.sh"

count=300
! is_long || count=1000
[ -z "$wrapper" ] || count=50
serve memory 1M blkhash-file="$sums"

# clients COUNT
clients () {
  client "" "for i in range($1):
    h2 = connect(['', 'b', 'c'][i % 3])
    h2.pwrite(bytes([i % 256]) * 70000, i * 997 % 900000)
    h2.pread(5000, i * 99 % 900000)
    if i % 2: h2.shutdown()
    del h2"
}
rss () {
  awk '/^VmRSS/ { print $2 }' "/proc/$server/status"
}

# The heaps of nbdkit's threads grow at first, and whenever more clients than
# before are connected at once.  A leak grows in every round.
clients $count
for round in 1 2 3 4 5 6 7 8; do
  before=$(rss)
  clients $count
  after=$(rss)
  echo "from $before to $after KiB"
  [ $((after - before)) -ge $((3 * count)) ] || break
done
[ -n "$wrapper" ] || [ "$SANITIZE" != no ] || [ $((after - before)) -lt $((3 * count)) ] ||
  fail "memory: from $before to $after KiB, after $round rounds"
few_files () { [ "$(ls "/proc/$server/fd" | wc -l)" -lt 20 ]; }
wait_until few_files
copy "$uri" "$dir/copy"
wait_for_sum "$dir/copy"
stop

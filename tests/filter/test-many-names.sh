#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients choose names.  The cost of a change does not depend on the number of
# names of a disk: all their sums are withdrawn in one write.

. "$(dirname "$0")/../hold-functions.sh"
requires_program strace
requires_no_sanitizer
[ -z "$wrapper" ] || skip "strace and valgrind do not go together"
requires strace -o "$dir/trace" true

names=300
truncate -s 64k "$dir/disk"
nbdkit_wrapper="strace -f -qq -e trace=rename,renameat,renameat2,fsync,fdatasync
  -o $dir/trace"
serve_snapshot
tracer=$server
server=$(cat "$socket.pid")
kill_at_exit "$server"

# work: counts renames and syncs of the result file.
work () {
  grep -c -e '^[0-9]* *rename' -e '^[0-9]* *f\(data\)\{0,1\}sync' "$dir/trace" || :
}

clients "for i in range($names):
    h = connect(str(i), False)
    h.pread(65536, 0)
    h.shutdown()
logged('snapshot: closed', $names)"
[ "$(grep -c '^blk-' "$sums")" = $names ] || fail "no sums"

before=$(work)
clients 'h = connect("0", False)
h.pwrite(b"x", 0)
h.pwrite(b"y", 1)
no_sums = all(l.startswith("# ") for l in sums().splitlines())
assert no_sums, "old sums are still there"
os._exit(0)'
wait_until grep -q "^blk-[^ ]* (0" "$sums"
after=$(work)
[ $((after - before)) -le 10 ] ||
  fail "one write cost $((after - before)) renames and syncs with $names names"
kill "$server"
wait $tracer
right_or_none 0 1 17 $((names - 1))

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A fast zero that is refused because it would not be fast is not a failure:
# clients try it, and then write zeros.  Its range is unknown afterwards,
# because a filter below can have zeroed a part of it.

. "$(dirname "$0")/../hold-functions.sh"

# refused CODE: fast zeros of these clients are refused; they make $dir/wanted.
refused () {
  truncate -s 0 "$dir/disk"
  truncate -s 8m "$dir/disk"
  serve_snapshot fast-zero=false blkhash-missing=$missing
  clients "import errno
def fast_zero(h, len, offset):
    try:
        h.zero(len, offset, nbd.CMD_FLAG_FAST_ZERO)
        assert False, 'not refused'
    except nbd.Error as e:
        assert e.errnum == errno.ENOTSUP, e
h = connect()
assert h.can_fast_zero()
$1
h.shutdown()"
  wait_for_sum "$dir/disk"
  stop
  wait_for_sum "$dir/disk"
}

# Blocks are known that are written afterwards.
missing=fail
refused 'fast_zero(h, 8 << 20, 0)
h.pwrite(b"x" * (8 << 20), 0)'

# Blocks that are missing are read, also if a sum was published before.
missing=read
refused 'h.pwrite(b"x" * 10, 70000)
fast_zero(h, 65536, 0)'
refused 'h.pwrite(b"x" * (8 << 20), 0)
h.shutdown()
h = connect()
fast_zero(h, 8 << 20, 0)'

# Nothing is read if a client only tried a fast zero.
write_data "$dir/disk" 0 8388608
serve_snapshot fast-zero=false
clients 'h = connect()
try:
    h.zero(65536, 0, nbd.CMD_FLAG_FAST_ZERO)
    assert False, "not refused"
except nbd.Error: pass
h.shutdown()'
stop
! grep 'snapshot: pread' "$log" || fail "the disk was read"
no_sum

# nbdkit's retry-request filter repeats the request: the first try zeroes one
# half and fails, the second one is refused.
truncate -s 0 "$dir/disk"
truncate -s 8m "$dir/disk"
serve_snapshot fast-zero=half
clients 'h = connect()
h.pwrite(b"x" * (8 << 20), 0)
try:
    h.zero(4 << 20, 0, nbd.CMD_FLAG_FAST_ZERO)
    assert False, "not refused"
except nbd.Error: pass
h.shutdown()'
wait_for_sum "$dir/disk"
stop

# With FUA the zero succeeds, and the flush after it is refused.
truncate -s 0 "$dir/disk"
truncate -s 8m "$dir/disk"
serve_snapshot flush=refused
clients 'h = connect()
h.pwrite(b"x" * (8 << 20), 0)
try:
    h.zero(65536, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_FUA)
    assert False, "not refused"
except nbd.Error: pass
h.shutdown()'
right_or_none
stop
right_or_none

# Other failures are still failures.
truncate -s 0 "$dir/disk"
truncate -s 8m "$dir/disk"
serve --filter=error "$snapshot" file="$dir/disk" fast-zero=false \
      error-zero-rate=100% error-zero=EIO blkhash-file="$sums"
clients 'h = connect()
h.pwrite(b"x", 0)
for flags in 0, nbd.CMD_FLAG_FAST_ZERO:
    try:
        h.zero(65536, 0, flags)
        assert False
    except nbd.Error: pass
h.shutdown()'
wait_for_match '^# unknown -: the last request failed'
stop

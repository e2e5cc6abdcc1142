#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A refused fast zero, because it would not be fast, is no failure: clients try
# it, and then write zeros.  Its range is unknown afterwards: a filter below can
# have zeroed a part of it.

. "$(dirname "$0")/hold-functions.sh"

# refused CODE: clients that make $dir/wanted, whose fast zeros are refused.
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
  sum_comes "$dir/disk"
  stop
  sum_comes "$dir/disk"
}

# What is written afterwards is known.
missing=fail
refused 'fast_zero(h, 8 << 20, 0)
h.pwrite(b"x" * (8 << 20), 0)'

# What is missing is read, also when there was a sum before.
missing=read
refused 'h.pwrite(b"x" * 10, 70000)
fast_zero(h, 65536, 0)'
refused 'h.pwrite(b"x" * (8 << 20), 0)
h.shutdown()
h = connect()
fast_zero(h, 8 << 20, 0)'

# Nothing is read for a client that only tried it.
write_data "$dir/disk" 0 8388608
serve_snapshot fast-zero=false
clients 'h = connect()
try:
    h.zero(65536, 0, nbd.CMD_FLAG_FAST_ZERO)
    assert False, "not refused"
except nbd.Error: pass
h.shutdown()'
stop
! grep 'snapshot: pread' "$log" || fail "it was read"
no_sum

# With nbdkit's retry-request filter between, the first try zeroes a half and
# fails, and the second one is refused.
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
sum_comes "$dir/disk"
stop

# With FUA the zero is done, and the flush behind it is refused.
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

# Another failure stays one.
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
line_matches '^# incomplete -: the last request failed'
stop

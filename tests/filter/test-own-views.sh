#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Connections that do not see changes by others, because the plugin has no
# multi-conn: the sum does not come from a stale connection, unless a flush
# refreshes it.  There is the sum of the disk, or the reason why there is none.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/image"

# old_view CODE [NAME]...: "a" is connected.  CODE changes the disk, also by
# another connection, and closes both connections in some order.
old_view () {
  code=$1
  shift
  for flush in fresh none; do
    cp "$dir/image" "$dir/disk"
    serve_snapshot views=own flush=$flush
    clients "flush = '$flush' != 'none'
a = connect()
$code"
    stop
    right_or_none - "$@"
    # A client that connects when no other is connected sees all changes.
    cp "$dir/image" "$dir/disk"
    serve_snapshot views=own flush=$flush
    clients "flush = '$flush' != 'none'
a = connect()
$code
all_closed()
h = connect()
h.pread(h.get_size(), 0)
h.shutdown()"
    wait_for_sum "$dir/disk"
    stop
    wait_for_sum "$dir/disk"
  done
}

# A trim is not proven by another connection that was open before.
old_view 'b = connect()
b.pwrite(b"w" * 65536, 131072)
b.trim(65536, 0)
if flush: b.flush()
b.shutdown()
a.pread(1, 200000)
a.shutdown()'

# Nor if that connection wrote, or flushed before the trim.
old_view 'b = connect()
a.pwrite(b"a" * 10, 1500000)
if flush: a.flush()
b.trim(65536, 65536)
b.pwrite(b"b" * 10, 1000000)
if flush: b.flush()
b.shutdown()
a.pwrite(b"a" * 10, 1700000)
a.shutdown()'

# The same by two names of the disk.
old_view 'b = connect("other")
b.trim(65536, 0)
if flush: b.flush()
b.shutdown()
a.pwrite(b"a", 1000000)
a.shutdown()
b = connect("other")
b.pread(b.get_size(), 0)
b.shutdown()' other

# The extents of a connection are as old as its view.
old_view 'b = connect()
b.pwrite(b"was zero", 4 << 20)
b.trim(10, 4 << 20)
if flush: b.flush()
b.shutdown()
a.pread(1, 200000)
a.shutdown()'

# A connection reads a block before and after another one changes it.
old_view 'b = connect()
a.pread(8 << 20, 0)
b.trim(65536, 0)
if flush: b.flush()
a.pread(65536, 0)
b.pread(1, 200000)
b.shutdown()
a.shutdown()'

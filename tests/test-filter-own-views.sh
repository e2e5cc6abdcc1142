#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Connections that do not see changes by others, because the plugin has no
# multi-conn: the sum does not come from a stale connection, unless a flush
# refreshes it.  There is the sum of the disk, or the reason why there is none.

. "$(dirname "$0")/hold-functions.sh"

make_image "$dir/image"

# old_view CODE [NAME]...: "a" is connected; CODE changes the disk by another
# connection too, and says how that ends.  Both are then gone.
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
    # A client that opens the disk after all others closed it sees everything.
    cp "$dir/image" "$dir/disk"
    serve_snapshot views=own flush=$flush
    clients "flush = '$flush' != 'none'
a = connect()
$code
all_closed()
h = connect()
h.pread(h.get_size(), 0)
h.shutdown()"
    sum_comes "$dir/disk"
    stop
    sum_comes "$dir/disk"
  done
}

# What one has trimmed is not read back through the other.
old_view 'b = connect()
b.pwrite(b"w" * 65536, 131072)
b.trim(65536, 0)
if flush: b.flush()
b.shutdown()
a.pread(1, 200000)
a.shutdown()'

# Not even if that one changed something itself, or flushed before.
old_view 'b = connect()
a.pwrite(b"a" * 10, 1500000)
if flush: a.flush()
b.trim(65536, 65536)
b.pwrite(b"b" * 10, 1000000)
if flush: b.flush()
b.shutdown()
a.pwrite(b"a" * 10, 1700000)
a.shutdown()'

# The same by another name of the disk.
old_view 'b = connect("other")
b.trim(65536, 0)
if flush: b.flush()
b.shutdown()
a.pwrite(b"a", 1000000)
a.shutdown()
b = connect("other")
b.pread(b.get_size(), 0)
b.shutdown()' other

# Extents are as old.
old_view 'b = connect()
b.pwrite(b"was zero", 4 << 20)
b.trim(10, 4 << 20)
if flush: b.flush()
b.shutdown()
a.pread(1, 200000)
a.shutdown()'

# What a connection has read before another one changed it, and reads again.
old_view 'b = connect()
a.pread(8 << 20, 0)
b.trim(65536, 0)
if flush: b.flush()
a.pread(65536, 0)
b.pread(1, 200000)
b.shutdown()
a.shutdown()'

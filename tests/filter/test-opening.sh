#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A connection is being opened while another one changes the disk: its view is
# that of .open, so it may not see the change.  There must be no wrong sum.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/image"

# opening CALL CHANGE: makes CHANGE while CALL of a new connection is held.  The
# new connection is the last to disconnect.
opening () {
  for flush in fresh none; do
    cp "$dir/image" "$dir/disk"
    serve_snapshot views=own flush=$flush
    clients "a = connect()
hold = Hold('$1')
b = later(connect)
hold.wait()
$2
if '$flush' != 'none': a.flush()
hold.release()
b = b.get()
a.shutdown()
logged('snapshot: closed')
b.pread(1, 200000)
b.shutdown()"
    stop
    right_or_none
  done
}

for call in open get_size can_multi_conn; do
  opening $call 'a.trim(65536, 0)'
  opening $call 'a.pwrite(b"x", 1000003)'
done

# The change begins before the connection is opened and reaches the disk after
# its .open; or the other way round.
for call in trim trim-done; do
  cp "$dir/image" "$dir/disk"
  serve_snapshot views=own flush=none
  clients "a = connect()
hold = Hold('$call')
change = later(a.trim, 65536, 0)
hold.wait()
b = connect()
hold.release()
change.get()
a.shutdown()
logged('snapshot: closed')
b.pread(1, 200000)
b.shutdown()"
  stop
  right_or_none
done

# The connection that changes the disk connects and disconnects while the other
# one is in .open; before, it was the last one.
cp "$dir/image" "$dir/disk"
serve_snapshot views=own flush=none
clients "hold = Hold('open')
b = later(connect)
hold.wait()
a = connect()
a.trim(65536, 0)
a.shutdown()
logged('snapshot: closed')
hold.release()
b = b.get()
b.pwrite(b'x', 100)
b.shutdown()"
stop
right_or_none

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A handshake fails, as that of a port scan does: nbdkit opens the plugin, and
# closes it without .finalize.  The sum of other clients is not lost.  The short
# form has a fifth of the cases.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/image"

broken='
import socket, struct
def option(number, data=b"", magic=b"IHAVEOPT"):
    return magic + struct.pack(">II", number, len(data)) + data
flags = struct.pack(">I", 1)
any_export = struct.pack(">IH", 0, 0)
go, info, old = option(7, any_export), option(6, any_export), option(1)

# What a client sends before it stops reading.
steps = {
    "nothing": b"",
    "flags": flags,
    "wrong flags": b"\xff\xff\xff\xff",
    "half an option": flags + go[:10],
    "wrong magic": flags + option(7, any_export, b"IHAVENOT"),
    "wrong option": flags + option(77),
    "wrong length": flags + option(7, b"\0\0\0\7abc"),
    "list": flags + option(3),
    "info": flags + info,
    "info and half of go": flags + info + go[:17],
    "go": flags + go,
    "go and a wrong request": flags + go + b"x" * 28,
    "old": flags + old,
}
def dial(step):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    assert s.recv(18, socket.MSG_WAITALL)[:8] == b"NBDMAGIC"
    s.sendall(steps[step])
    return s
# Close the socket, and wait until the server has noticed.
def hang_up(s):
    try:
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
    except OSError:
        pass
# A client that is gone when the server wants to reply.
class Gone:
    def __init__(self, call, step):
        self.hold = Hold(call)
        s = dial(step)
        self.hold.wait()
        s.close()
    def end(self):
        closed = log().count("blkhash: close")
        self.hold.release()
        logged("blkhash: close", closed + 1)
'

# scanned CODE: runs clients, some of which break off the handshake: Gone (call,
# step) does so at that step, while that call of the plugin is held.
scanned () {
  for call in open get_size can_multi_conn can_fast_zero; do
    for step in info go old; do
      every 5 11 || continue
      cp "$dir/image" "$dir/disk"
      serve_snapshot
      clients "$broken
call, step = '$call', '$step'
$1"
      stop
      ! result_matches ' 0 bytes' ||
        fail "the reason says that 0 bytes are missing: $(cat "$sums")"
      right_or_none
      [ "$2" = or_none ] || has_line "$(sum_line "$wanted")" ||
        fail "$call, $step: no sum: $(cat "$sums")"
    done
  done
}

# While the missing blocks are read: closed before, and after, the read ends.
scanned 'a = connect()
a.pwrite(b"x", 0)
reading = Hold("pread")
left = later(a.shutdown)
reading.wait()
gone = Gone(call, step)
gone.end()
reading.release()
left.get()'
scanned 'a = connect()
a.pwrite(b"x", 0)
reading = Hold("pread")
left = later(a.shutdown)
reading.wait()
gone = Gone(call, step)
reading.release()
left.get()
gone.end()'

# Closed last, when no block is missing.
scanned 'a = connect()
a.pwrite(b"x" * (8 << 20), 0)
gone = Gone(call, step)
a.shutdown()
gone.end()'
scanned 'a = connect()
a.pread(8 << 20, 0)
gone = Gone(call, step)
a.shutdown()
gone.end()'

# Closed last, when blocks are missing: they are read when the next client
# disconnects, or before.
scanned 'a = connect()
a.pwrite(b"x", 0)
gone = Gone(call, step)
a.shutdown()
gone.end()' or_none
scanned 'a = connect()
a.pwrite(b"x", 0)
gone = Gone(call, step)
a.shutdown()
gone.end()
a = connect()
a.pread(1, 0)
a.shutdown()'

# When the sum is published.
scanned 'a = connect()
a.pwrite(b"x", 0)
a.shutdown()
logged("snapshot: closed")
gone = Gone(call, step)
gone.end()'

# A client breaks off at any step, while the missing blocks are read, and
# afterwards.
cp "$dir/image" "$dir/disk"
serve_snapshot
clients "$broken"'
for step in steps:
    a = connect()
    a.pwrite(b"x", 0)
    reading = Hold("pread")
    left = later(a.shutdown)
    reading.wait()
    gone = later(hang_up, dial(step))
    reading.release()
    left.get()
    gone.get()
    hang_up(dial(step))
    while "blk-" not in sums():
        time.sleep(0.01)'
wait_for_sum "$dir/disk"
stop
wait_for_sum "$dir/disk"

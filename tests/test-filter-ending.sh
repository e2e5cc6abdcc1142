#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit accepts a connection and gets SIGTERM before the thread of the connection
# has run.  It does not wait for that thread.  The filter keeps the thread from
# using freed memory, and from using the plugin during the plugin's .cleanup.

. "$(dirname "$0")/hold-functions.sh"
requires_no_sanitizer
[ -z "$wrapper" ] || skip "not in valgrind"

make_image "$dir/disk"
# Each connection has one thread.
above=--threads=1
nbdkit_wrapper="env LD_PRELOAD=$snapshot"

# ending CODE: runs Python code.  The thread of the connection "late" is held in
# "thread".  nbdkit got SIGTERM, has waited for all other threads, and is held
# in "quitting".  "cleanup" holds the plugin's .cleanup.  A block is unknown
# after a failed flush, so the next connection would read it.
ending () {
  serve_snapshot flush=refused
  clients "def late_connection():
    try:
        connect().shutdown()
    except nbd.Error as e:
        print(e)
def all_sleep():
    tasks = '/proc/$server/task'
    return all(open(f'{tasks}/{t}/stat').read().rsplit(')')[1][1] == 'S'
               for t in os.listdir(tasks))
a = connect()
a.pwrite(b'x', 5)
try:
    a.flush()
except nbd.Error:
    pass
a.shutdown()
logged('snapshot: closed')
thread = Hold('thread')
late = later(late_connection)
thread.wait()
quitting = Hold('listening')
os.kill($server, 15)
quitting.wait()
cleanup = Hold('cleanup')
$1
late.get()"
  status=0
  wait $server || status=$?
  [ $status = 0 ] || fail "nbdkit ended with $status: $(tail -n 40 "$log")"
  right_or_none
}

# The thread runs after .cleanup: it must not reach the plugin.
ending "quitting.release()
cleanup.wait()
thread.release()
logged('blkhash: preconnect', 2)
while not all_sleep():
    time.sleep(0.01)
assert 'snapshot: preconnect' not in log()[log().index('blkhash: cleanup'):]
cleanup.release()"

# The connection is being opened during .cleanup: the filter does not read the
# unknown block.
ending "opening = Hold('open')
thread.release()
opening.wait()
quitting.release()
cleanup.wait()
opening.release()
late.get()
assert 'pread' not in log()[log().index('snapshot: cleanup'):]
cleanup.release()"
result_matches '^# incomplete -: ' || fail "a sum was published"

# The filter reads during that time: .cleanup of the plugin runs after the read.
ending "reading = Hold('pread')
thread.release()
reading.wait()
quitting.release()
logged('blkhash: cleanup')
while not all_sleep():
    time.sleep(0.01)
assert 'snapshot: cleanup' not in log()
reading.release()
cleanup.wait()
cleanup.release()"
result_matches '^[0-9a-f]\{64\}  -$' || fail "no sum was published"

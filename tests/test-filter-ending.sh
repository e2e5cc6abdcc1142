#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit accepts a connection and gets SIGTERM before the thread of the connection
# has run.  It does not wait for that thread.  The filter keeps the thread from
# using freed memory, and from using the plugin during the plugin's .cleanup.

. "$(dirname "$0")/hold-functions.sh"
not_sanitized
[ -z "$wrapper" ] || skip "not in valgrind"

make_image "$dir/disk"
# One thread for each connection.
above=--threads=1
nbdkit_wrapper="env LD_PRELOAD=$snapshot"

# ending CODE: python, for which "late" is a connection whose thread is held in
# "thread", and nbdkit has been told to quit, has waited for all others, and is held
# in "quitting"; "cleanup" is where the plugin is told.  It logs "again" what is not
# known: the next connection would read it.
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

# It comes when the plugin has been told: it does not reach the plugin.
ending "quitting.release()
cleanup.wait()
thread.release()
logged('blkhash: preconnect', 2)
while not all_sleep():
    time.sleep(0.01)
assert 'snapshot: preconnect' not in log()[log().index('blkhash: cleanup'):]
cleanup.release()"

# It is being opened at that time: it does not read what is not known.
ending "opening = Hold('open')
thread.release()
opening.wait()
quitting.release()
cleanup.wait()
opening.release()
late.get()
assert 'pread' not in log()[log().index('snapshot: cleanup'):]
cleanup.release()"
says '^# incomplete -: ' || fail "there is a sum"

# It is reading then: the plugin is told when that is done.
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
says '^[0-9a-f]\{64\}  -$' || fail "there is no sum"

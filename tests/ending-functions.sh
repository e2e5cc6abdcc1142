# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by tests of the end of nbdkit, instead of hold-functions.sh.
#
# nbdkit accepts a connection and gets SIGTERM before the thread of the
# connection has run.  It does not wait for that thread.

. "$(dirname "$0")/../hold-functions.sh"
[ -z "$wrapper" ] || skip "not in valgrind"

make_image "$dir/disk"
# Each connection has one thread.
above=--threads=1
case $SANITIZE in
  no)
    nbdkit_wrapper="env LD_PRELOAD=$snapshot"
    at_end= ;;
  *)
    # The libraries of the sanitizer must be the first.
    nbdkit_wrapper=$nbdkit_wrapper:$snapshot
    # nbdkit can hang then, see "ended", without closing the connection.
    at_end="logged('$filter_name: unload')
try:
    os.kill(server, 9)
except ProcessLookupError:
    pass" ;;
esac

# ending FIRST CODE: runs Python code, and waits for the end of the server.
# FIRST uses the connection "a", which is closed then.  In CODE the thread of
# the connection "late" is held in "thread".  nbdkit got SIGTERM, has waited for
# all other threads, and is held in "quitting".  "cleanup" holds the plugin's
# .cleanup.  The connections are those of the export $export_name.
export_name=
ending () {
  clients "server = $server
def late_connection():
    try:
        connect('$export_name').shutdown()
    except nbd.Error as e:
        print(e)
def all_sleep():
    tasks = f'/proc/{server}/task'
    return all(open(f'{tasks}/{t}/stat').read().rsplit(')')[1][1] == 'S'
               for t in os.listdir(tasks))
a = connect('$export_name')
$1
a.shutdown()
logged('snapshot: closed')
thread = Hold('thread')
late = later(late_connection)
thread.wait()
quitting = Hold('listening')
os.kill(server, 15)
quitting.wait()
cleanup = Hold('cleanup')
$2
$at_end
late.get()"
  ended
}

# For CODE: the thread runs after .cleanup: it must not reach the plugin.
thread_after_cleanup="quitting.release()
cleanup.wait()
thread.release()
logged('$filter_name: preconnect', 2)
while not all_sleep():
    time.sleep(0.01)
after = log()[log().index('$filter_name: cleanup'):]
assert 'snapshot: preconnect' not in after
cleanup.release()"

# For CODE: the connection is being opened during .cleanup, which does not wait
# for it; then .cleanup of the plugin goes on after "cleanup.release()".
opening_at_cleanup="opening = Hold('open')
thread.release()
opening.wait()
quitting.release()
cleanup.wait()
opening.release()
late.get()"

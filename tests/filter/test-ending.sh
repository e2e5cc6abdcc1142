#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit accepts a connection and gets SIGTERM before the thread of the connection
# has run.  It does not wait for that thread.  The filter keeps the thread from
# using freed memory, and from using the plugin during the plugin's .cleanup.

. "$(dirname "$0")/../ending-functions.sh"

# last CODE: ends a server, as "ending".  A block is unknown after a failed
# flush, so the next connection would read it.
last () {
  serve_snapshot flush=refused
  ending "a.pwrite(b'x', 5)
try:
    a.flush()
except nbd.Error:
    pass" "$1"
  right_or_none
}

last "$thread_after_cleanup"

# The filter does not read the unknown block.
last "$opening_at_cleanup
assert 'pread' not in log()[log().index('snapshot: cleanup'):]
cleanup.release()"
result_matches '^# unknown -: ' || fail "a sum was published"

# The filter reads during that time: .cleanup of the plugin runs after the read.
last "reading = Hold('pread')
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
result_matches '^blk-sha256/64k (-) = ' || fail "no sum was published"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The server is killed while it writes the manifest: the file is right or empty,
# and the next server starts, and replaces what is left.
# ../campaign/test-power-cuts.sh ends it at each change of a file.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
[ -z "$wrapper" ] || skip "strace and valgrind do not go together"
requires_program strace

make_image "$dir/image"

# attach OPTION...: attaches strace to the server.
attach () {
  rm -f "$dir/attached"
  strace -f -p "$server" -o /dev/null "$@" 2> "$dir/attached" &
  kill_at_exit $!
  wait_until test -s "$dir/attached" # attached, or not permitted
  grep -q attached "$dir/attached" || skip "strace cannot attach here"
}

# killed_at CALL:NUMBER CODE: kills the server at this system call of the thread
# that writes the manifest, or withdraws it, while a client runs CODE.
killed_at () {
  attach -e trace=fsync,rename,renameat2,unlink -e inject=${1%:*}:signal=KILL:when=${1#*:}
  client "" "try:
  $2
  h.shutdown()
except nbd.Error: pass
os._exit(0)"
  wait $server || :
  [ ! -s "$manifest" ] || manifest_is "$dir/image"
}

# start: the new server removes the results of the last one.
start () {
  serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
  no_manifest
  only_lock_beside "$manifest"
}

# The new manifest is synced and renamed, is exchanged with the old one, which is
# removed, and the directory is synced; then the same for the result file with the
# new line.
for call in renameat2:1 unlink:2; do
  start
  killed_at $call 'h.pread(h.get_size(), 0)'
done
[ -s "$manifest" ] || fail "the manifest is renamed after the result file"

# The same for an empty manifest, and then for the result file; only then does the
# plugin get the write.
for call in rename:1 fsync:4; do
  start
  client "" 'h.pread(h.get_size(), 0)'
  wait_for_sum "$dir/image"
  killed_at $call 'h.pwrite(b"x", 5000000)'
done
no_manifest

start
copy "$uri" null:
wait_for_sum "$dir/image"
manifest_is "$dir/image"
stop

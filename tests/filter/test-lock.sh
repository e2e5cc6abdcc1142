#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A second nbdkit with the result file or the manifest of another one fails,
# with an error, and changes nothing.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
requires_program flock

make_image "$dir/image"
cd "$dir"
ln -s sums link

# second REGEX ARGUMENT...: does not start, and keeps the results of the first
# one.
second () {
  regex=$1
  shift
  run 1 nbdkit --filter="$filter" file "$dir/image" "$@"
  grep -q -e "$regex" "$dir/stderr" || fail "does not say '$regex'"
  wait_for_sum "$dir/image"
  manifest_is "$dir/image"
}

in_use='is in use by another nbdkit'
all_second () {
  # The same command; then another socket and one of the files, by several
  # names.
  second "blkhash-file: .* $in_use" -U "$socket" blkhash-file="$sums" \
         blkhash-manifest="$manifest"
  second "blkhash-file: .* $in_use" -U other.sock blkhash-file="$sums"
  second "blkhash-file: .* $in_use" -U other.sock blkhash-file=link \
         blkhash-manifest=other
  second "blkhash-manifest: .* $in_use" -U other.sock blkhash-file=other \
         blkhash-manifest="$manifest"
  second "blkhash-manifest: .* $in_use" -U other.sock blkhash-file=other \
         blkhash-manifest=sums
  ! [ -e other.sock ] || fail "the second one listened on its socket"
}

serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/image"
all_second
# The file is replaced, and stays locked.
client "" 'h.pwrite(b"x", 0)
h.pread(1, 0)'
wait_for_sum "$dir/image"
all_second
stop
[ "$(ls sums* manifest*)" = "manifest
sums" ] || fail "left behind: $(ls)"

# In the background, where nbdkit runs as another process.
socket=$dir/daemon.sock
nbdkit -U "$socket" -P daemon.pid --filter="$filter" file "$dir/image" \
       blkhash-file="$sums" blkhash-manifest="$manifest"
wait_until test -s daemon.pid
kill_at_exit "$(cat daemon.pid)"
copy "nbd+unix:///?socket=$socket" null:
wait_for_sum "$dir/image"
all_second

# A server that was killed holds no lock.
kill -9 "$(cat daemon.pid)"
wait_until flock -n sums.blkhash-lock true
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
[ ! -s "$sums" ] || fail "not emptied"
copy "$uri" null:
wait_for_sum "$dir/image"
stop
[ "$(ls sums* manifest*)" = "manifest
sums" ] || fail "left behind: $(ls)"

# Nor does one that failed to start for another reason.
: > taken.sock
run 1 nbdkit -U taken.sock --filter="$filter" file "$dir/image" \
    blkhash-file="$sums" blkhash-manifest="$manifest"
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/image"
stop

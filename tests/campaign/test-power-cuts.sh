#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# No sum and no manifest is wrong after a power cut at any moment, on storage that
# forgets what was not synced, tears writes, fails or returns wrong bytes.  Runs
# test-power-cuts.py, which reads BLKHASH_SEED.  BLKHASH_ROUNDS is the number of
# faults; in the long form the power is cut at each change.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "valgrind is too slow for so many runs"
requires_no_sanitizer
fs=$abs_top_builddir/tests/forgetful-fs
[ -x "$fs" ] || skip "built without fuse3"
requires test -w /dev/fuse
requires_program fusermount3

# unmount_all: ends the file systems of this test, whatever is left.
unmount_all () {
  cut -d ' ' -f 2 /proc/mounts | grep "^$dir/" | while read -r mounted; do
    fusermount3 -u -z "$mounted" || :
  done
}
at_exit unmount_all

# Can it be mounted here?
mkdir "$dir/try" "$dir/try/store" "$dir/try/mnt"
timeout $limit "$fs" "$dir/try/store" "$dir/try/mnt" \
  > "$dir/try/out" 2> "$dir/stderr" &
kill_at_exit $!
becomes_mounted () {
  [ -s "$dir/try/out" ] || ! kill -0 "$1" 2> /dev/null
}
wait_until becomes_mounted $!
[ -s "$dir/try/out" ] || skip "cannot mount: $(head -n 1 "$dir/stderr")"
kill $!
wait $! || :

filter=$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so
with_filter=
if [ -f "$filter" ] && command -v nbdkit > /dev/null &&
   "$PYTHON" -c 'import nbd' 2> /dev/null; then
  with_filter="--filter $filter"
else
  echo "without the filter: nbdkit or its Python module is missing"
fi

is_long || BLKHASH_ROUNDS=${BLKHASH_ROUNDS:-200}
"$PYTHON" "$abs_top_srcdir/tests/campaign/test-power-cuts.py" \
  --fs "$fs" --blksum "$(real_program "$BLKSUM")" \
  --blkhash "$(real_program "$BLKHASH")" \
  $with_filter ${BLKHASH_ROUNDS:+--faults "$BLKHASH_ROUNDS"}

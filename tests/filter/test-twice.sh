#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If the filter is given twice on the command line, it works, or an error is
# printed; nbdkit does not crash.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"
uri=nbd+unix:///?socket=$dir/sock
status=0
nbdkit -f -U "$dir/sock" -P "$dir/pid" --filter="$filter" --filter="$filter" \
       file "$dir/image" blkhash-file="$sums" 2> "$dir/stderr" &
server=$!
kill_at_exit $server
# started_or_ended: nbdkit serves, or ends with an error.
started_or_ended () {
  [ -s "$dir/pid" ] || ! kill -0 $server 2> /dev/null
}
wait_until started_or_ended
if [ -s "$dir/pid" ]; then
  run_copy=$(nbdcopy "$uri" null: 2>&1) || fail "$run_copy"
  kill $server
  wait $server || status=$?
  [ $status = 0 ] || fail "exit status $status"
  has_line "$(sum_line "$(reference "$dir/image")")" || fail "no sum: $(cat "$sums")"
else
  wait $server || status=$?
  [ $status = 1 ] || fail "exit status $status"
  grep -q 'nbdkit: error: .*blkhash' "$dir/stderr" || fail "no error"
fi

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Ctrl-C in the middle of a copy leaves no process and no file of virt-v2v,
# nbdkit and blkhash-v2v.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/real-functions.sh"

BEFORE_COPY=": > '$dir/held'; exec sleep 3000"
in_own_group blkhash-v2v --sums "$dir/sums" --manifest-dir "$dir/out" \
  virt-v2v -i disk "$dir/guest.img" -o local -os "$dir/out"
held_or_ended () {
  [ -e "$dir/held" ] || ! kill -0 $main 2> /dev/null
}
wait_until held_or_ended
[ -e "$dir/held" ] || fail "blkhash-v2v ended before the copy"
kill -INT -$main
status=0
wait $main || status=$?
cat "$dir/stdout" "$dir/stderr"
[ $status = 130 ] || fail "exit status $status, not 130"
no_result
nothing_left
[ ! "$(ls "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"

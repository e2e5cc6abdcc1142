#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# While one read is slow, other reads do not run far ahead: their data would
# have to stay in memory.  They continue when it completes, and end when it
# fails.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit eval

truncate -s 4m "$dir/image"
write_data "$dir/image" 0 4194304
sum=$(reference -b 4 "$dir/image")

export dir
start_nbdkit eval thread_model='echo parallel' can_multi_conn='exit 0' \
  get_size='echo 4194304' \
  pread='
    if [ $4 = 0 ]; then
      echo > $dir/held
      while [ -e $dir/hold ]; do sleep 0.05; done
      if [ -e $dir/bad ]; then echo EIO >&2; exit 1; fi
    elif [ -e $dir/hold ]; then
      echo $4 >> $dir/ahead
    fi
    dd if=$dir/image skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none
    [ $4 = 0 ] || echo $4 >> $dir/answered'

# asks_no_more: all requests that were received are answered, and all threads of
# blksum sleep.
asks_no_more () {
  [ "$(sort "$dir/ahead" | uniq)" = "$(sort "$dir/answered" | uniq)" ] &&
    ! grep -h '^State:' "/proc/$blksum_pid/task/"*/status | grep -qv sleeping
}

# held: runs blksum in the background until the first read is held and others
# were received; then releases it.
held () {
  rm -f "$dir/held" "$dir/ahead" "$dir/answered"
  touch "$dir/hold"
  blksum --no-names -b 4 -t 8 "$uri" > "$dir/stdout" 2> "$dir/stderr" &
  blksum_pid=$!
  kill_at_exit $blksum_pid
  wait_until test -s "$dir/held"
  wait_until test -s "$dir/ahead"
  wait_until test -s "$dir/answered"
  # The last answers may not have arrived at the first check.
  for again in 1 2 3 4 5; do
    wait_until asks_no_more
  done
  last=$(sort -n "$dir/ahead" | tail -n 1)
  rm "$dir/hold"
  status=0
  wait $blksum_pid || status=$?
  [ "$last" -lt 1048576 ] || fail "read at $last while the first read was held"
}

held
[ $status = 0 ] || fail "exit status $status"
[ "$(cat "$dir/stdout")" = "$sum" ] || fail "not $sum"

touch "$dir/bad"
held
[ $status = 2 ] || fail "exit status $status"
[ ! -s "$dir/stdout" ] || fail "printed a sum"
says_once "cannot read at offset 0"

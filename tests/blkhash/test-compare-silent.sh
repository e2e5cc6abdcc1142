#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare ends when one image fails, even if the server of the other one
# does not reply any more.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit eval

start_nbdkit eval get_size='echo 64m' can_extents='exit 3' pread='
  while [ $4 -ge 4194304 ] && ! [ -e '"'$dir/go'"' ] && [ -d '"'$dir'"' ]; do
    echo > '"'$dir/held'"'
    sleep 0.1
  done
  head -c $3 /dev/zero | tr "\\0" "\\1"'
# cut_off COMMAND: its stdin ends when the server has stopped to reply.
cut_off () {
  { head -c 4194304 /dev/zero | tr '\0' '\1'
    wait_until test -e "$dir/held"; } | timeout 120 "$@"
}
run 2 cut_off blkhash compare --size 64m "$uri" -
says_once "ended after 4194304 bytes"
touch "$dir/go"

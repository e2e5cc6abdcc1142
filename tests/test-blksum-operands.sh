#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each of several operands has its line, in order; an operand that cannot be
# hashed does not affect the others.

. "$(dirname "$0")/functions.sh"

make_image "$dir/a"
printf hello > "$dir/b"
a=$(reference "$dir/a")
b=$(reference "$dir/b")
printf 'third' > "$dir/c"
c=$(reference "$dir/c")

# expect STATUS LINES COMMAND: stdout is exactly LINES.
expect () {
  printf '%b' "$2" > "$dir/expected"
  run_status=$1
  shift 2
  run "$run_status" "$@"
  diff -u "$dir/expected" "$dir/stdout" || fail "wrong lines: $*"
}

cd "$dir"
expect 0 "$a  a\n$b  b\n" blksum a b
expect 0 "$a  a\n$a  a\n" blksum a a
expect 2 "$a  a\n$b  b\n" blksum a missing b
says_once "missing: .*No such file"
expect 2 "$a  a\n" blksum . a
says_once ".: .*directory"
expect 2 "$a  a\n" blksum a .
expect 2 "" blksum missing .
[ "$(wc -l < "$dir/stderr")" = 2 ] || fail "not one line for each error"

# One operand is standard input, which is read from its offset.
with_input () { printf third | blksum "$@"; }
expect 0 "$a  a\n$c  -\n$b  b\n" with_input a - b
expect 0 "$c  -\n" with_input
expect 0 "$c  -\n" with_input -- -

# Options may come after operands, until "--".
expect 0 "$a\n$b\n" blksum a --no-names b
expect 2 "$a  a\n" blksum -- a --no-names

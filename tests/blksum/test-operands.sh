#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each of several operands has its line, in order; an operand that cannot be
# hashed does not affect the others.

. "$(dirname "$0")/../functions.sh"

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

# Standard input is read by one operand at a time, and is not a file named "-".
printf small > ./-
expect 0 "$c  -\n$(printf '' | reference)  -\n$(reference ./-)  ./-\n" \
  with_input - - ./-
rm ./-

# Manifests are operands, too.
run 0 blksum --manifest m a
expect 2 "$b  b\n$a  manifest:m\n$c  c\n" blksum b manifest:m manifest:b c

# As JSON, and with the progress of one image after the other.
run 0 blksum --output json a b c
[ "$(grep -c '"result":"ok"' "$dir/stdout")" = 3 ] || fail "not three results"
run 0 blksum --progress=3 a b c 3> percents
[ "$(grep -cx 100/100 percents)" = 3 ] || fail "not three times 100/100"

# If a result cannot be written, the images that are left are not read.
requires test -c /dev/full
to_full () { "$@" > /dev/full; }
refuses "No space left" to_full blksum a missing
! grep missing "$dir/stderr" || fail "an operand after the error was opened"

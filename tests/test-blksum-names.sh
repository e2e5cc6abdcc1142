#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lines are those of sha256sum, odd names included, but for the sum.

. "$(dirname "$0")/functions.sh"
requires_program sha256sum

mkdir "$dir/names"
cd "$dir/names"
tab=$(printf '\t')
newline='a
b'
cr=$(printf 'a\rb')
latin1=$(printf 'caf\351')
for name in plain 'two  words' ' lead' 'trail ' 'back\slash' '\' "$newline" \
            "$cr" '-dash' '--help' 'café' "$latin1" "tab$tab" 'quote"'"'" '*' \
            '(paren) = x' '\\n' 'a\nb'; do
  # Not every file system takes all of them.
  printf hello > "./$name" || continue
  for options in "" -z; do
    sha256sum $options -- "$name" > "$dir/expected"
    run 0 blksum $options -- "$name"
    # The sums are of the same length, a backslash may go before them.
    sed -i -E '1s/^(\\?)[0-9a-f]{64} /\1 /' "$dir/expected" "$dir/stdout"
    cmp "$dir/expected" "$dir/stdout" || fail "the line of $name $options"
  done
  # --tag escapes alike.
  sha256sum --tag -- "$name" | sed -E 's/^(\\?)SHA256 /\1blk-sha256\/64k /
    s/= [0-9a-f]{64}$/=/' > "$dir/expected"
  run 0 blksum --tag -- "$name"
  sed -i -E 's/= [0-9a-f]{64}$/=/' "$dir/stdout"
  cmp "$dir/expected" "$dir/stdout" || fail "the tagged line of $name"
done

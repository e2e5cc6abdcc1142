#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lines are those of sha256sum, except for the sum, for odd names too.

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
  # Some file systems do not accept all of them.
  printf hello > "./$name" || continue
  for options in "" -z; do
    sha256sum $options -- "$name" > "$dir/expected"
    run 0 blksum $options -- "$name"
    # Sums have the same length; a backslash may precede them.
    sed -i -E '1s/^(\\?)[0-9a-f]{64} /\1 /' "$dir/expected" "$dir/stdout"
    cmp "$dir/expected" "$dir/stdout" || fail "the line of $name $options"
  done
  # --tag escapes names in the same way.
  sha256sum --tag -- "$name" | sed -E 's/^(\\?)SHA256 /\1blk-sha256\/64k /
    s/= [0-9a-f]{64}$/=/' > "$dir/expected"
  run 0 blksum --tag -- "$name"
  sed -i -E 's/= [0-9a-f]{64}$/=/' "$dir/stdout"
  cmp "$dir/expected" "$dir/stdout" || fail "the tagged line of $name"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Lines are those of sha256sum, except for the sum, for odd names too.

. "$(dirname "$0")/../functions.sh"
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

# ---- Images that qemu opens ----

requires_qemu
make_image "$dir/raw"
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
cp "$dir/qcow2" "$dir/kept"
qemu-img create -q -u -f qcow2 -F qcow2 -b "$dir/qcow2" "$dir/top" 8m

# Names that JSON must escape, and names that qemu accepts in no JSON: Latin-1,
# and a code point that is no character.
for name in 'a "b"\c' "$(printf 'new\nline\001')" "$latin1" 'a,b' 'nbd:x' \
            "$(printf 'no\357\277\277')"; do
  cp "$dir/qcow2" "./$name" || continue
  cp "$dir/top" "./$name.top"
  for options in '' -U; do
    prints_sum "$sum" blksum --no-names $options "$name"
    prints_sum "$sum" blksum --no-names $options -f qcow2 "$name"
    prints_sum "$sum" blksum --no-names $options -f qcow2 "$name.top"
  done
  cmp "$dir/kept" "./$name" || fail "the image was changed"
  run 2 blksum -f vdi "$name"
  ! grep -q 'json:\|driver=' "$dir/stderr" ||
    fail "a message shows our options for qemu"
done

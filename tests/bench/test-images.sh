#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make-images makes images with the data that their names say.  raw and qcow2 of
# a name are the same disk, and each run makes the same images.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "a test of scripts"
[ "$PYTHON" != no ] || skip "python3 is missing"
requires_qemu
bench=$abs_top_srcdir/tests/bench

make_images () {
  run 0 "$PYTHON" "$bench/make-images" "$@"
}
make_images "$dir/images" --size 20m

# has_data NAME MIB: NAME.raw has that much data.
has_data () {
  raw=$dir/images/$1.raw
  [ "$(wc -c < "$raw")" = 20971520 ] || fail "$1.raw is not of 20 MiB"
  got=$("$PYTHON" -c 'import sys
with open(sys.argv[1], "rb") as f:
    print(sum(any(piece) for piece in iter(lambda: f.read(1 << 20), b"")))
' "$raw")
  [ "$got" = "$2" ] || fail "$1.raw has $got MiB of data, not $2"
  sum=$(reference "$raw")
  prints_sum "$sum" blksum "$raw"
  prints_sum "$sum" blksum "$dir/images/$1.qcow2"
}
has_data 10p 2
has_data 20p 4
has_data 25p 5
has_data 40p 8
has_data 50p 10
has_data 75p 15
has_data 80p 16
has_data full 20
has_data zero 0
has_data empty 0

# Zeros that are written take space; holes do not.
[ "$(du -k "$dir/images/zero.raw" | cut -f1)" -ge 20480 ] ||
  fail "zero.raw has holes"
[ "$(wc -c < "$dir/images/zero.qcow2")" -ge 20971520 ] ||
  fail "zero.qcow2 has holes"
[ "$(wc -c < "$dir/images/empty.qcow2")" -lt 1048576 ] ||
  fail "empty.qcow2 has data"

make_images "$dir/again" --size 20m --images 25p
cmp "$dir/images/25p.raw" "$dir/again/25p.raw" ||
  fail "the second run made another image"
[ "$(ls "$dir/again")" = "25p.qcow2
25p.raw" ] || fail "made images that were not requested: $(ls "$dir/again")"

# An existing image is kept.
echo mine > "$dir/again/25p.raw"
make_images "$dir/again" --size 20m --images 25p
[ "$(cat "$dir/again/25p.raw")" = mine ] || fail "an image was overwritten"

run 2 "$PYTHON" "$bench/make-images" "$dir/none" --images 25p,26p
for size in 0 1000 1x m -1m 1.5m; do
  run 2 "$PYTHON" "$bench/make-images" "$dir/none" "--size=$size"
done

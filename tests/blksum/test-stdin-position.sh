#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Standard input is read from its offset to its end, and the offset is left
# there, as by any program that reads it; also if it is a file whose holes are
# not read.

. "$(dirname "$0")/../functions.sh"

nothing=af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc

# check_both FILE: the second operand is at the end, and so are other programs.
check_both () {
  sum=$(reference "$1")
  twice () { blksum "$@" - - < "$file"; }
  then_count () { { blksum "$@" && wc -c; } < "$file"; }
  then_append () { { blksum "$@" && echo tail >&0; } <> "$file"; }
  file=$1
  for options in "" "-t 4" "--cache" "--no-extents" "-U"; do
    run 0 twice $options
    printf '%s  -\n' "$sum" $nothing | cmp -s - "$dir/stdout" ||
      fail "expected $sum and $nothing"
    run 0 then_count $options
    printf '%s  -\n0\n' "$sum" | cmp -s - "$dir/stdout" ||
      fail "expected $sum and 0"
  done
  cp "$file" "$dir/appended"
  (cat "$file"; echo tail) > "$dir/wanted"
  file=$dir/appended
  run 0 then_append
  cmp "$dir/wanted" "$dir/appended" || fail "not appended at the end"
}

# A hole at the end, at the start, a hole only, no hole, several, and an empty
# file.
truncate -s 3m "$dir/hole-at-end"
write_data "$dir/hole-at-end" 0 1000000
check_both "$dir/hole-at-end"
truncate -s 3m "$dir/hole-at-start"
write_data "$dir/hole-at-start" 3000000 145728
check_both "$dir/hole-at-start"
truncate -s 3m "$dir/hole"
check_both "$dir/hole"
: > "$dir/data"
write_data "$dir/data" 0 3000001
check_both "$dir/data"
make_image "$dir/image"
check_both "$dir/image"
: > "$dir/empty"
check_both "$dir/empty"

# The offset is in the middle, at the end, and beyond it.
from () {
  offset=$1
  shift
  { "$PYTHON" -c 'import os, sys; os.lseek(0, int(sys.argv[1]), 0)' "$offset"
    "$@"; } < "$dir/hole-at-end"
}
for offset in 1 65536 999999 2000000 3145727; do
  tail -c +$((offset + 1)) "$dir/hole-at-end" > "$dir/rest"
  run 0 from $offset blksum - -
  printf '%s  -\n' "$(reference "$dir/rest")" $nothing |
    cmp -s - "$dir/stdout" || fail "the sum from offset $offset on differs"
done
prints_sum $nothing from 3145728 blksum
prints_sum $nothing from 5000000 blksum

# After a source that fails, the next operand is read.
run 2 from 0 blksum -f qcow2 - "$dir/data"

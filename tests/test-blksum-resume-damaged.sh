#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume completes the manifest after any crash: truncated at any byte, with
# any byte changed, or with any data appended.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"

image=$dir/image
make_large_image "$image"
sum=$(reference -b 1m "$image")
blksum -b 1m --manifest "$dir/expected" "$image" > /dev/null

# right WHAT: the manifest is right; if the run starts over, a message says so.
right () {
  run 0 blksum -b 1m --resume --manifest "$dir/m" "$image"
  [ "$(cut -d' ' -f1 "$dir/stdout")" = "$sum" ] || fail "$1: expected $sum"
  ! grep -v ": starting over$" "$dir/stderr" || fail "$1: an unexpected message"
  cmp "$dir/m" "$dir/expected" || fail "$1: the manifest differs"
  [ ! -e "$dir/m.state" ] || fail "$1: the state is left behind"
}

# The header, and records of a few blocks each, up to the last block.
interrupt KILL -b 1m "$image"
save_files
"$PYTHON" - "$abs_top_srcdir/tests" "$dir/kept" "$dir/expected" << 'END'
import sys
sys.path.insert(0, sys.argv[1])
import refmanifest

head = open(sys.argv[2], "rb").read(512)
parts = []
for first, count, leaves in \
        refmanifest.read(open(sys.argv[3], "rb").read()).runs:
    for at in range(0, count, 7):
        n = min(7, count - at)
        parts.append(refmanifest.record(
            first + at, n | (0 if leaves else 1 << 63),
            b"".join(leaves[at:at + n]) if leaves else b""))
open(sys.argv[2], "wb").write(head + b"".join(parts))
END
size=$(stat -c %s "$dir/kept")
restore_files
right "all blocks"

for at in $(seq 512 61 "$size") $((size - 1)); do
  every 1 3 || continue
  restore_files
  truncate -s "$at" "$dir/m"
  right "cut at $at"
  restore_files
  printf '\252' | dd of="$dir/m" bs=1 seek="$at" conv=notrunc status=none
  right "changed at $at"
done
for at in 0 17 300 511; do
  restore_files
  truncate -s "$at" "$dir/m"
  right "cut at $at"
done

# Data is appended, also after a cut: zeros, garbage, records of other blocks,
# and of another manifest.
for at in 512 1000 "$size"; do
  for behind in zeros garbage head tail other; do
    restore_files
    truncate -s "$at" "$dir/m"
    case $behind in
      zeros) head -c 70000 /dev/zero ;;
      garbage) seq 10000 ;;
      head) head -c 1500 "$dir/kept" ;;
      tail) tail -c 1500 "$dir/kept" ;;
      other) tail -c +513 "$dir/expected" ;;
    esac >> "$dir/m"
    right "$behind behind $at"
  done
done

# The invalid end is truncated before anything is written: if the run fails,
# that end does not follow its new records.
requires_nbdkit eval
start_nbdkit eval get_size='echo 8m' can_extents='exit 3' pread='
  if [ $4 -ge 4194304 ]; then echo EIO no good >&2; exit 1; fi
  head -c $3 /dev/zero'
fails () {
  run 2 blksum -t 1 --queue-depth=1 --read-size=512k --resume \
    --assume-unchanged --manifest "$dir/failed" "$uri"
}
fails
size=$(stat -c %s "$dir/failed")
head -c 100000 /dev/urandom >> "$dir/failed"
fails
[ "$(stat -c %s "$dir/failed")" -lt $((size + 100000)) ] ||
  fail "the invalid end was not truncated"

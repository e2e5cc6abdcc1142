#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The file system of the result file is full when the result is written: there
# is an error in the log, and no stale sum.

. "$(dirname "$0")/../filter-functions.sh"
requires_root
mkdir "$dir/small"
requires mount -t tmpfs -o size=64k none "$dir/small"
at_exit 'umount "$dir/small"'

make_image "$dir/image"
sums=$dir/small/sums
serve file "$dir/image" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/image"

fill="with open(\"$dir/small/fill\", \"wb\", buffering=0) as f:
  try:
    while True: f.write(bytes(4096))
  except OSError: pass"
client "" "h.pwrite(b\"x\", 0)
$fill"
wait_until grep -q 'blkhash-file: cannot write .*No space' "$log"
no_sum
rm "$dir/small/fill"
client "" 'h.pwrite(b"y", 0)'
wait_for_sum "$dir/image"

# The sum is withdrawn when there is space; then there is none.
echo notes > "$dir/small/notes"
client "" "h.pwrite(b\"x\", 0)
os.rename('$dir/small/notes', '$sums')
$fill"
wait_until all_disconnected
stop
[ "$(cat "$sums")" = notes ] || fail "their file was changed: $(cat "$sums")"
[ "$(grep -c 'blkhash-file: cannot write .*No space' "$log")" = 2 ] ||
  fail "the log does not say so"

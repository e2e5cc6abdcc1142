#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The file system of an output of the verify filter is full: there is an error in
# the log, the file is empty, never partial or stale, and reads go on.

. "$(dirname "$0")/../verify-functions.sh"
requires_root
mkdir "$dir/small"
requires mount -t tmpfs -o size=64k none "$dir/small"
at_exit 'umount "$dir/small"'

prove "$image"
cp "$image" "$dir/disk"
out=$dir/small/out

fill () {
  ! cat /dev/zero 2> /dev/null > "$dir/small/fill" || fail "it is not full"
}

# becomes_empty: after an error that is in the log.
becomes_empty () {
  wait_until grep -q "blkhash-verify-$output: cannot write $out: No space" \
             "$log"
  wait_until test -e "$out" -a ! -s "$out"
  [ "$(ls "$dir/small")" = "fill
out
out.blkhash-lock" ] || fail "left behind: $(ls "$dir/small")"
}

# is_whole RESULT: all of the output is there, and one block differs, or none.
is_whole () {
  case $output.$1 in
    file.differs) [ "$(without_header "$out")" = "# differs -: 65536 bytes" ] ;;
    file.ok) [ "$(without_header "$out")" = "blk-sha256/64k (-) = ${tagged##* }" ] ;;
    status.*)
      "$PYTHON" -c '
import json, sys
e, = json.load(open(sys.argv[1]))["exports"]
sys.exit(e["result"] != sys.argv[2])' "$out" $1 2> /dev/null ;;
    mapfile.differs) [ "$(tail -n +5 "$out")" = "0x00000000  0x00100000  +
0x00100000  0x00010000  -
0x00110000  0x006F0000  +" ] ;;
    mapfile.ok) [ "$(tail -n +5 "$out")" = "0x00000000  0x00800000  +" ] ;;
  esac
}

becomes_whole () {
  becomes_true is_whole $1 || fail "not $1: $(cat "$out")"
}

for output in file status mapfile; do
  # From the start.
  fill
  verify file "$dir/disk" blkhash-verify-$output="$out" \
         blkhash-verify-zero=extents
  becomes_empty
  copies
  becomes_empty

  # There is space again, when something has changed.
  rm "$dir/small/fill"
  flip "$dir/disk" 1048600
  wait_until all_disconnected
  client "" "$reads
for at in range(0, len(truth), 65536):
    (fails if at == 1048576 else right)(65536, at)"
  becomes_whole differs

  # The old content does not stay.
  fill
  flip "$dir/disk" 1048600
  wait_until all_disconnected
  client "" "$reads
for at in range(0, len(truth), 65536):
    right(65536, at)"
  becomes_empty
  copies

  # The server ends.  A block that emptying the file has freed can be enough.
  fill
  stop
  [ -e "$out" ] || fail "it is gone"
  [ ! -s "$out" ] || is_whole ok || fail "$(cat "$out")"
  rm "$dir/small/fill"

  # Nothing of that disturbs the next one.
  verify file "$dir/disk" blkhash-verify-$output="$out" \
         blkhash-verify-zero=extents
  copies
  becomes_whole ok
  stop
  is_whole ok || fail "$(cat "$out")"
  rm "$out"
done

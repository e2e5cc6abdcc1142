#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An image that another program has open for writing is refused, even if it is
# raw, and is read with -U.  Several readers are permitted.

. "$(dirname "$0")/../functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"

# serve FORMAT [OPTION]...: starts qemu-nbd; sets $server to its process id.
serve () {
  rm -f "$dir/sock" "$dir/pid"
  qemu-nbd --persistent --fork --pid-file="$dir/pid" -k "$dir/sock" \
           -f "$@" "$dir/$1"
  wait_until test -s "$dir/pid"
  server=$(cat "$dir/pid")
  kill_at_exit "$server"
}

# The message is ours, or that of qemu.
in_use='.*\(in use by another\|another process using\)'
from_stdin () { blksum < "$1"; }

for format in raw qcow2; do
  serve $format
  refuses "$dir/$format: $in_use" blksum "$dir/$format"
  refuses "$dir/$format: $in_use" blksum -f $format "$dir/$format"
  prints_sum "$sum" blksum -U "$dir/$format"
  prints_sum "$sum" blksum -U -f $format "$dir/$format"
  if [ $format = raw ]; then
    refuses "-: $in_use" from_stdin "$dir/$format"
  fi
  kill "$server"
  wait_until has_ended "$server"

  serve $format --read-only
  prints_sum "$sum" blksum "$dir/$format"
  kill "$server"
  wait_until has_ended "$server"
  prints_sum "$sum" blksum "$dir/$format"
done

# Also for backing files: qemu itself permits writers of raw files.
for format in raw qcow2; do
  qemu-img create -q -f qcow2 -F $format -b "$dir/$format" "$dir/overlay"
  serve $format
  refuses "'$dir/$format' is in use by another" blksum -f qcow2 "$dir/overlay"
  prints_sum "$sum" blksum -U -f qcow2 "$dir/overlay"
  kill "$server"
  wait_until has_ended "$server"

  # A guest with another overlay only reads the backing file.
  serve $format --read-only
  prints_sum "$sum" blksum -f qcow2 "$dir/overlay"
  kill "$server"
  wait_until has_ended "$server"
done

# Two readers at once.
blksum "$dir/raw" "$dir/qcow2" > "$dir/other" &
other=$!
prints_sum "$sum" blksum "$dir/raw"
wait $other
[ "$(grep -c "^$sum " "$dir/other")" = 2 ] ||
  fail "two readers at once did not both succeed"

# While an image is read, a writer cannot open it.
write_data "$dir/big" 0 67108864
qemu-img create -q -f qcow2 -F raw -b "$dir/big" "$dir/overlay"
writer="! qemu-io -f raw -c 'write 0 1k' $dir/big > $dir/qemu-io.log 2>&1"

# keeps_away OPTION... FILE: qemu-io cannot open FILE while blksum reads it.
keeps_away () {
  run 0 midway "$writer" "$@"
  grep -q 'lock' "$dir/qemu-io.log" || fail "no lock: $(cat "$dir/qemu-io.log")"
}
keeps_away "$dir/big"
keeps_away -f qcow2 "$dir/overlay"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The file system of the manifest is full: there is an error in the log, no
# stale or truncated manifest, and still a sum.

. "$(dirname "$0")/../filter-functions.sh"
requires_root
mkdir "$dir/small"
requires mount -t tmpfs -o size=64k none "$dir/small"
at_exit 'umount "$dir/small"'
manifest=$dir/small/manifest

make_image "$dir/image"

# The file system is full before the first byte is written.
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest" \
      blkhash-block-size=512
copy "$uri" null:
wanted=$(reference -b 512 "$dir/image")
wait_for_line "$(sum_line "$wanted" - sha256/512)"
no_manifest
grep -q 'blkhash-manifest: cannot write .*manifest.*No space' "$log" ||
  fail "not in the log"
only_lock_beside "$manifest"
stop

# The file system becomes full, and then has space again; with one file there,
# or both.
for file in "$sums" "$dir/small/sums"; do
  sums=$file
  serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
  copy "$uri" null:
  wait_for_sum "$dir/image"
  manifest_is "$dir/image"
  client "" "h.pwrite(b\"x\", 0)
assert content('$manifest') == b''
with open(\"$dir/small/fill\", \"wb\", buffering=0) as f:
  try:
    while True: f.write(bytes(4096))
  except OSError: pass"
  wait_until grep -q 'blkhash-manifest: cannot write .*manifest.*No space' "$log"
  wait_until all_disconnected
  no_manifest
  rm "$dir/small/fill"
  client "" 'h.pwrite(b"y", 0)'
  wait_for_sum "$dir/image"
  manifest_is "$dir/image"
  stop
done

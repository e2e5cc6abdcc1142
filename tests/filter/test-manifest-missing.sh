#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# While there is no sum the manifest is empty, and blksum refuses it.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"

refused () {
  no_manifest
  refuses "too short to be a blkhash manifest" blksum "manifest:$manifest"
  refuses "too short to be a blkhash manifest" \
          blkhash compare "manifest:$manifest" "$dir/image"
}

# Blocks are missing, and must not be read.
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest" \
      blkhash-missing=fail
refused
client "" 'h.pread(h.get_size() - 609, 0)'
wait_for_line '# unknown -: 609 bytes are missing'
refused
client "" 'h.pread(609, h.get_size() - 609)'
wait_for_sum "$dir/image"
manifest_is "$dir/image"
client "" 'h.trim(4096, 0)'
wait_for_match '^# unknown -: '
refused
stop
refused

# A client only connects: nothing is read for it.
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
client "" 'h.pread(1, 0)'
wait_until all_disconnected
refused
stop
result_matches '^# unknown -: '
refused

# The last request failed.
serve --filter=error file "$dir/image" error-pwrite-rate=100% \
      blkhash-file="$sums" blkhash-manifest="$manifest"
client "" 'try: h.pwrite(b"x", 0)
except nbd.Error: pass'
wait_for_match '^# unknown -: '
refused
stop
refused

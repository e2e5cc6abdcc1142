#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A raw file that was not in the page cache is not left there; with -c it is.
# What was there stays.

. "$(dirname "$0")/functions.sh"
requires_program fincore

# Bytes of $dir/image in the page cache.
cached () {
  fincore --bytes --noheadings --output RES "$dir/image" | tr -d ' '
}
evict () {
  sync "$dir/image"
  dd if="$dir/image" iflag=nocache count=0 status=none
}

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
size=$(stat -c %s "$dir/image")
requires cached
evict
[ "$(cached)" -lt $((size / 10)) ] || skip "cannot empty the page cache"

# Readahead may leave a little.
prints_sum "$sum" blksum "$dir/image"
[ "$(cached)" -lt $((size / 10)) ] ||
  fail "$(cached) of $size bytes were left in the page cache"

from_stdin () { blksum "$@" < "$dir/image"; }
prints_sum "$sum" from_stdin
[ "$(cached)" -lt $((size / 10)) ] ||
  fail "$(cached) of $size bytes were left in the page cache, from stdin"

# The kernel may take a little back at any moment.
prints_sum "$sum" blksum -c "$dir/image"
[ "$(cached)" -gt $((size * 8 / 10)) ] ||
  fail "only $(cached) of $size bytes are in the page cache with -c"

# It is all there now: reading it must not throw it out.
prints_sum "$sum" blksum "$dir/image"
[ "$(cached)" -gt $((size * 8 / 10)) ] ||
  fail "only $(cached) of $size bytes stayed in the page cache"

# qcow2 likewise.
requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
mv "$dir/qcow2" "$dir/image"
size=$(stat -c %s "$dir/image")
evict
prints_sum "$sum" blksum "$dir/image"
[ "$(cached)" -lt $((size / 10)) ] ||
  fail "$(cached) of $size bytes of a qcow2 were left in the page cache"

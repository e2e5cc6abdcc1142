#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An image of 5 TiB, almost all of it a hole, is hashed by path, from standard
# input and from nbdkit.

. "$(dirname "$0")/../functions.sh"

[ -z "$wrapper" ] || skip "too slow with valgrind"

image=$dir/image
truncate -s 5t "$image" 2> /dev/null ||
  skip "no files of 5 TiB in $dir"
write_data "$image" 0 4096
write_data "$image" 1234567890123 200000
write_data "$image" 5497558138000 880
# The reference reads only data if the file system reports holes.
[ "$(du -k "$image" | cut -f1)" -lt 2000 ] || skip "no sparse files in $dir"

# Blocks of 1 MiB: 5 million leaves, instead of 80 million.
sum=$(reference -b 1m "$image")
from_stdin () { blksum -b 1m < "$1"; }
prints_sum "$sum" blksum -b 1m "$image"
prints_sum "$sum" from_stdin "$image"

requires_nbdkit file
start_nbdkit file "$image"
prints_sum "$sum" blksum -b 1m "$uri"

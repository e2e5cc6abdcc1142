#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file whose times do not fit into 32 bits has a sum, also on a machine of 32
# bits; --resume knows such times too.

. "$(dirname "$0")/functions.sh"

make_image "$dir/image"
touch -d 2100-01-01 "$dir/image"
[ "$(stat -c %Y "$dir/image")" -gt 4000000000 ] ||
  skip "no file can be of the year 2100 here"

sum=$(reference "$dir/image")
prints_sum "$sum" blksum "$dir/image"

# The times of a file that is of the future prove nothing about it.
run 0 blksum --resume --manifest "$dir/manifest" "$dir/image"
prints_sum "$sum" blksum "manifest:$dir/manifest"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A raw file that was not in the page cache is not left there; with -c it is.
# What was there stays: of a kernel that does what it is asked, page by page.
# The pages at both ends, in which blksum looked for a format, may stay.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/page-cache-functions.sh"
[ -z "$no_model" ] || skip "$no_model"

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
all=$(pages)
from_stdin () { blksum "$@" < "$dir/image"; }

for command in blksum "blksum -t 1" "blksum --no-extents"; do
  model_has 0
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps 0 2
  model_has "$all"
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps "$all" "$all"
  # A part that was there stays, and nothing else.
  model_has 4000
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps 4000 4001
  model_has 0
  prints_sum "$sum" modelled $command -c "$dir/image"
  model_keeps "$all" "$all"
done
model_has 0
prints_sum "$sum" modelled from_stdin
model_keeps 0 2
model_has 4000
prints_sum "$sum" modelled from_stdin
model_keeps 4000 4001

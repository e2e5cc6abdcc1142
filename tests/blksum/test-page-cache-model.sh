#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum leaves no pages of a raw file in the page cache that were not cached,
# except with -c, and keeps those that were.  The model is a kernel that follows
# all requests page by page.  The first and last pages, in which blksum probes
# the format, may stay.  On FUSE and NFS cached pages are kept, too, if the system
# shows which ones are cached.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/page-cache-functions.sh"
requires_no_sanitizer "a sanitizer must be the first library"
[ -z "$no_model" ] || skip "$no_model"

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
all=$(pages)
from_stdin () { blksum "$@" < "$dir/image"; }

# leaves_as_is COMMAND: pages that were cached stay, and no others.
leaves_as_is () {
  model_has 0
  prints_sum "$sum" modelled "$@"
  model_keeps 0 2
  model_has "$all"
  prints_sum "$sum" modelled "$@"
  model_keeps "$all" "$all"
  # Of a file that is partly cached, this part stays, and no other page.
  model_has 4000
  prints_sum "$sum" modelled "$@"
  model_keeps 4000 4001
}

for command in blksum "blksum -t 1" "blksum --no-extents"; do
  leaves_as_is $command "$dir/image"
  model_has 0
  prints_sum "$sum" modelled $command -c "$dir/image"
  model_keeps "$all" "$all"
done
leaves_as_is from_stdin

# ---- FUSE and NFS ----

# There data that is not cached is read with direct I/O, and a tmpfs has only cached
# data.
[ "$(stat -f -c %T "$dir")" != tmpfs ] &&
  dd if="$dir/image" iflag=direct of=/dev/null bs=4096 count=1 status=none ||
  skip "FUSE and NFS were not tested: no direct I/O in $dir"
NO_DONTCACHE=$dir/refused NO_NOWAIT=yes
export NO_DONTCACHE NO_NOWAIT
: > "$NO_DONTCACHE"
for command in blksum "blksum -t 1"; do
  NO_NOWAIT=yes
  leaves_as_is $command "$dir/image"
  # All pages seem to be cached, so what is read is dropped.
  NO_NOWAIT=denied
  model_has 0
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps 0 2
done

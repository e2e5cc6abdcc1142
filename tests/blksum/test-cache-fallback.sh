#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If the kernel or the file system has no RWF_DONTCACHE, as Linux before 6.14
# and tmpfs, the sum is the same, and blksum leaves no pages of a file in the
# page cache that was not cached.

. "$(dirname "$0")/../functions.sh"

# A file system without it, on any kernel.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
  shm=$(mktemp -d /dev/shm/blkhash-test-XXXXXX)
  at_exit 'rm -rf "$shm"'
  make_image "$shm/image"
  sum=$(reference "$shm/image")
  prints_sum "$sum" blksum "$shm/image"
  prints_sum "$sum" blksum --cache "$shm/image"
  from_shm () { blksum < "$shm/image"; }
  prints_sum "$sum" from_shm
fi

# A sanitizer must be the first library.
[ "$SANITIZE" = no ] || exit 0
. "$(dirname "$0")/page-cache-functions.sh"
[ -z "$no_model" ] || skip "$no_model"

NO_DONTCACHE=$dir/refused
export NO_DONTCACHE

# cold COMMAND: hashes an image that is not cached.  Two pages may stay: that in
# which blksum probes the format, and that in which the last read ends.
cold () {
  : > "$NO_DONTCACHE"
  model_has 0
  prints_sum "$sum" modelled "$@"
  [ -s "$NO_DONTCACHE" ] || skip "blksum does not use the flag here"
  model_keeps 0 2
}

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
from_stdin () { blksum "$@" < "$dir/image"; }
cold blksum --no-extents "$dir/image"
truncate -s 40000001 "$dir/image"
sum=$(reference "$dir/image")
cold blksum "$dir/image"
cold blksum -t 1 "$dir/image"
cold from_stdin

# Pages that were cached stay; small files are hashed too.
for command in blksum "blksum -t 1"; do
  model_has "$(pages)"
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps "$(pages)" "$(pages)"
done
printf hello > "$dir/hello"
prints_sum "$(reference "$dir/hello")" modelled blksum "$dir/hello"

# The same with the page cache of the kernel.
requires_page_cache
leaves_none "$sum" unmodelled blksum "$dir/image"
leaves_none "$sum" unmodelled from_stdin
BEFORE=cat leaves_all "$sum" unmodelled blksum "$dir/image"

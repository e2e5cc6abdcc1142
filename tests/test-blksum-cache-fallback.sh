#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Where the kernel or the file system does not know RWF_DONTCACHE, as all
# before Linux 6.14 and tmpfs after it, the sum is the same, and a file that was
# not in the page cache is not left there.

. "$(dirname "$0")/functions.sh"

# A file system without it, whatever the kernel.
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

# cold COMMAND: of an image that is not in the cache.  The page in which blksum
# looked for a format may stay, and the one that a read ends in.
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

# What was there stays, and small files have their sums, too.
for command in blksum "blksum -t 1"; do
  model_has "$(pages)"
  prints_sum "$sum" modelled $command "$dir/image"
  model_keeps "$(pages)" "$(pages)"
done
printf hello > "$dir/hello"
prints_sum "$(reference "$dir/hello")" modelled blksum "$dir/hello"

# What the kernel makes of it.
requires_page_cache
leaves_none "$sum" unmodelled blksum "$dir/image"
leaves_none "$sum" unmodelled from_stdin
BEFORE=cat leaves_all "$sum" unmodelled blksum "$dir/image"

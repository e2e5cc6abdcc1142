#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum leaves no pages of a raw file in the page cache that were not cached,
# except with -c, and keeps those that were.  test-page-cache-model.sh
# compares single pages.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/page-cache-functions.sh"

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
from_stdin () { blksum "$@" < "$dir/image"; }

requires_page_cache
leaves_none "$sum" blksum "$dir/image"
leaves_none "$sum" from_stdin
BEFORE=evict leaves_all "$sum" blksum -c "$dir/image"
BEFORE=cat leaves_all "$sum" blksum "$dir/image"

# The same with a qcow2.
requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
mv "$dir/qcow2" "$dir/image"
leaves_none "$sum" blksum "$dir/image"

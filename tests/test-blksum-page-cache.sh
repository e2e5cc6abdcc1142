#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A raw file that was not in the page cache is not left there; with -c it is.
# What was there stays.  test-blksum-page-cache-model.sh looks at it page by page.

. "$(dirname "$0")/functions.sh"
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

# qcow2 likewise.
requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
mv "$dir/qcow2" "$dir/image"
leaves_none "$sum" blksum "$dir/image"

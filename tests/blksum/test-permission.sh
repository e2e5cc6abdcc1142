#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file without permission to read is an error.

. "$(dirname "$0")/../functions.sh"

echo data > "$dir/image"
chmod 000 "$dir/image"
if [ "$(id -u)" != 0 ]; then
  refuses "$dir/image: .*Permission denied" blksum "$dir/image"
  exit 0
fi

# Root can read any file, so blksum runs as another user.
requires_program setpriv
as_nobody () {
  setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
chmod 755 "$dir"
chmod 1777 "$TMPDIR"
requires as_nobody blksum --version
refuses "$dir/image: .*Permission denied" as_nobody blksum "$dir/image"

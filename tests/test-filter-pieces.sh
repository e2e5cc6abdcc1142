#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Pieces of blocks that a client has left behind do not take the memory of one
# that works well, by another name of the disk or of another disk.

. "$(dirname "$0")/hold-functions.sh"

# Six pieces of blocks of 16 MiB are more than the 64 MiB that are kept.
hash_options="-b 16m"
truncate -s 96m "$dir/disk"
leave='gone = connect("gone")
for i in range(6):
    gone.pread(1, i << 24)'
work='h = connect("good")
for part in range(2):
    for i in range(3):
        for j in range(4):
            h.pwrite(b"x" * (2 << 20), (i << 24) + (part << 23) + (j << 21))
for i in range(3, 6):
    for j in range(8):
        h.pwrite(b"y" * (2 << 20), (i << 24) + (j << 21))
h.shutdown()'

for distinct in true false; do
  # The client has gone, and one that is still there.
  for end in 'gone.shutdown()
logged("snapshot: close")' ''; do
    serve_snapshot blkhash-missing=fail blkhash-block-size=16m \
                   blkhash-distinct-exports=$distinct
    clients "$leave
$end
$work"
    line_comes "$(reference -b 16m "$dir/disk")  good"
    stop
    has_line "$(reference -b 16m "$dir/disk")  good" || fail "$(cat "$sums")"
  done
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Pieces of blocks of a client that has disconnected do not use up the memory
# for those of another client, of the same disk by another name or of another
# disk.

. "$(dirname "$0")/../hold-functions.sh"

# clients_of BITS END PARAMETER...: one client writes a piece of each block in
# the first 96 MiB, of 2^BITS bytes; not all of them fit in memory.  Then it
# does END.  Another client writes the first three blocks in halves, and then
# the rest.
truncate -s 96m "$dir/disk"
clients_of () {
  block=$((1 << $1))
  end=$2
  shift 2
  serve_snapshot blkhash-missing=fail blkhash-block-size=$block "$@"
  clients "gone = connect('gone')
for offset in range(0, 96 << 20, $block):
    gone.pread(1, offset)
$end
h = connect('good')
step = 1 << 21
for half in 0, $block // 2:
    for offset in range(half, 3 * $block, $block):
        for i in range(0, $block // 2, step):
            h.pwrite(b'x' * step, offset + i)
for offset in range(3 * $block, 96 << 20, step):
    h.pwrite(b'y' * step, offset)
h.shutdown()"
  wanted=$(reference -b $block "$dir/disk") spec=sha256/$((block >> 20))m
  wait_for_line "$(sum_line "$wanted" good $spec)"
  stop
  has_line "$(sum_line "$wanted" good $spec)" || fail "$(cat "$sums")"
}

# All pieces of a disconnected client can be evicted, if needed: three blocks of
# 16 MiB are all that fits.  A connected client keeps its share.
for distinct in true false; do
  clients_of 24 'gone.shutdown()
logged("snapshot: closed")' blkhash-distinct-exports=$distinct
  clients_of 23 '' blkhash-distinct-exports=$distinct
done

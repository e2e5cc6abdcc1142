#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The size of the disk changes while the filter reads missing blocks: the export
# starts over with the next client.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer "shells do not run with the sanitizer"

export dir
truncate -s 8m "$dir/disk"
touch "$dir/hold"
serve eval thread_model='echo parallel' get_size='stat -c %s $dir/disk' \
      can_write='exit 0' pwrite='cat > /dev/null' \
      pread='echo $4 >> $dir/reads
             while [ -e $dir/hold ]; do sleep 0.01; done; head -c $3 /dev/zero' \
      blkhash-file="$sums"
client "" 'h.pwrite(bytes(4096), 0); __import__("os")._exit(0)'
wait_until test -s "$dir/reads"
truncate -s 4m "$dir/disk"
client "" 'os.unlink("'"$dir"'/hold")
h.pread(10, 0)
os._exit(0)'
# The next client is the first that sees only the new size.
wait_until all_disconnected
client "" 'h.pread(4 << 20, 0)'
wait_for_sum "$dir/disk"
stop

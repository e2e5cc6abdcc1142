#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A client connects while the filter reads missing blocks: the pass is
# cancelled; the sum includes the writes of the client, and is published when it
# has disconnected.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer "shells do not run with the sanitizer"

truncate -s 8m "$dir/disk"
write_data "$dir/disk" 0 8388608
export dir
held_pread='echo $4 >> $dir/reads
  while [ -e $dir/hold ]; do sleep 0.01; done
  dd if=$dir/disk skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none'

# The last client disconnects, or its process ends without a disconnect.
for end in pass 'os._exit(0)'; do
  rm -f "$dir/reads"
  touch "$dir/hold"
  serve eval thread_model='echo parallel' get_size='stat -c %s $dir/disk' \
        pread="$held_pread" can_multi_conn='exit 0' flush='exit 0' \
        pwrite='dd of=$dir/disk seek=$4 oflag=seek_bytes conv=notrunc status=none' \
        blkhash-file="$sums"
  client "" 'h.pwrite(b"first", 0); os._exit(0)'
  wait_until test -s "$dir/reads"
  client "" "assert content('$sums') == b''
h.pwrite(b'second', 0)
h.pwrite(b'third', 8000000)
os.unlink('$dir/hold')
wait_until(lambda: b'blkhash: close\\n' in content('$log'))
assert content('$sums') == b''
$end"
  wait_for_sum "$dir/disk"
  # The cancelled pass is not repeated from the start.
  [ "$(wc -l < "$dir/reads")" -lt 14 ] || fail "$(cat "$dir/reads")"
  stop
  wait_for_sum "$dir/disk"
done

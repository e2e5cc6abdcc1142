#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Requests are in flight over the same blocks: their order is unknown, so the
# sum is of the content that is read at the end.

. "$(dirname "$0")/../filter-functions.sh"
requires delay_can_be_read

truncate -s 2m "$dir/disk"

# at_once COUNT REQUEST [AFTER]: runs REQUEST on COUNT connections at once; "i"
# is the number of the connection.
at_once () {
  client "" "import threading
def request(h, i):
    $2
clients = [connect('') for i in range($1)]
for c in range(5):
    threads = [threading.Thread(target=request, args=(h, i))
               for i, h in enumerate(clients)]
    for t in threads: t.start()
    for t in threads: t.join()
for h2 in clients: h2.shutdown()
${3:-pass}"
  wait_for_sum "$dir/disk"
}

# The delay makes sure that they overlap in time, and changes their order.
serve --filter=delay file "$dir/disk" delay-write=50ms delay-zero=50ms \
      blkhash-file="$sums"
at_once 2 'h.pwrite(bytes([65 + i]) * 65536, 0)'
at_once 4 'h.pwrite(bytes([65 + i]) * 65536, 0)'
at_once 4 'h.pwrite(bytes([65 + i]) * 100000, i * 30000)'
at_once 4 'h.pwrite(bytes([65 + i]), i % 2)'
at_once 4 'h.pwrite(b"x" * 65536, 0) if i % 2 else h.zero(65536, 0)'
# A later connection proves what another one trimmed.
at_once 4 'h.pwrite(b"x" * 65536, 0) if i % 2 else h.trim(65536, 32768)' \
        "closed = b'blkhash: close'
wait_until(lambda: content('$log').count(closed) == 27)
h.shutdown()
h = connect('')
h.pread(2 << 20, 0)"
stop

# Reads that begin while a write is in flight, and writes that begin while a
# read is.
for delay in write=50ms read=50ms; do
  above=--filter=delay
  # The filter reads missing blocks below the delay filter.
  serve file "$dir/disk" delay-$delay blkhash-file="$sums"
  at_once 4 'h.pread(200000, 0) if i % 2 else h.pwrite(bytes([97 + c + i]) * 65536, 0)'
  stop
  above=
done
# Shell plugins do not run with a sanitizer.
[ "$SANITIZE" = no ] || exit 0
export dir
for delay in pread pwrite; do
  slow_pread= slow_pwrite=
  eval "slow_$delay='; sleep 0.1'"
  serve eval thread_model='echo parallel' get_size='stat -c %s $dir/disk' \
        pread="dd if=\$dir/disk skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none $slow_pread" \
        pwrite="dd of=\$dir/disk seek=\$4 oflag=seek_bytes conv=notrunc status=none $slow_pwrite" \
        can_multi_conn='exit 0' flush='exit 0' can_extents='exit 0' \
        extents='echo $4 $3 $(cmp -s -n $3 -i $4:0 $dir/disk /dev/zero && echo hole,zero); sleep 0.1' \
        blkhash-file="$sums"
  # The reply with the old content arrives after the new content was written.
  at_once 4 'h.pread(65536, 0) if i % 2 else h.pwrite(bytes([97 + c]) * 65536, 0)'
  at_once 4 'h.block_status(65536, 65536 * (6 + c), lambda *_: 0) if i % 2 else (time.sleep(0.02), h.pwrite(bytes([97 + c]) * 65536, 65536 * (6 + c)))'
  stop
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The retry filter above ours closes and opens the connection in the middle of a
# transfer.  That must not make the filter read missing blocks.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer "shells do not run with the sanitizer"
requires_nbdkit --filter=retry --filter=error

write_data "$dir/disk" 0 4194304
export dir
above="--filter=retry"

# The third read fails, once.
serve eval get_size='stat -c %s $dir/disk' \
      pread='echo $3 $4 >> $dir/reads
             [ $(wc -l < $dir/reads) != 3 ] || { echo EIO Bad >&2; exit 1; }
             dd if=$dir/disk skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
      retry-delay=1 blkhash-file="$sums"
copy -C 1 --requests 1 --request-size 1048576 "$uri" "$dir/copy"
cmp "$dir/disk" "$dir/copy" || fail "the copy differs"
wait_for_sum "$dir/disk"
[ "$(wc -l < "$dir/reads")" = 5 ] ||
  fail "read more than the client: $(cat "$dir/reads")"
stop

# A write fails, once.
rm "$dir/reads"
serve eval get_size='stat -c %s $dir/disk' \
      pread='echo read >> $dir/reads
             dd if=$dir/disk skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
      pwrite='if [ $4 = 1048576 ] && ! [ -f $dir/failed ]; then
                cat > /dev/null; touch $dir/failed; echo EIO Bad >&2; exit 1
              fi
              dd of=$dir/disk seek=$4 oflag=seek_bytes conv=notrunc status=none' \
      retry-delay=1 blkhash-file="$sums"
client "" 'for i in range(4): h.pwrite(b"x" * (1 << 20), i << 20)'
wait_for_sum "$dir/disk"
[ ! -f "$dir/reads" ] || fail "the disk was read"
stop

# Without the retry filter: the disk is not read after a request that failed,
# either.
above=
serve eval get_size='stat -c %s $dir/disk' \
      pread='echo read >> $dir/reads; head -c $3 /dev/zero' \
      pwrite='cat > /dev/null; echo EIO Bad >&2; exit 1' blkhash-file="$sums"
client "" 'h.pread(65536, 0)
try: h.pwrite(b"x", 0)
except nbd.Error: pass'
wait_for_line '# unknown -: the last request failed'
stop
[ "$(wc -l < "$dir/reads")" = 1 ] || fail "the disk was read"
wait_for_line '# unknown -: the last request failed'

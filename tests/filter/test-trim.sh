#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Zeroes, trims and extents have the right effect on a sum.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/disk"

serve file "$dir/disk" blkhash-file="$sums"
for change in 'h.trim(100000, 1000)' 'h.trim(65536, 65536)' \
              'h.zero(100000, 1000)' 'h.zero(100000, 1000, nbd.CMD_FLAG_NO_HOLE)' \
              'h.zero(3 << 20, 1 << 20)' \
              'h.pwrite(b"x" * 10, 2 << 20); h.zero(5, 2 << 20)' \
              'h.zero(65536, 65536); h.pwrite(b"y", 65537)' \
              'h.pwrite(b"y" * 65536, 65536); h.block_status(1 << 20, 0, lambda *_: 0); h.zero(65536, 65536); h.block_status(1 << 20, 0, lambda *_: 0); h.pwrite(b"y", 65536)'; do
  client "" "$change"
  wait_for_sum "$dir/disk"
done
stop

# What was trimmed is read by its connection, without messages of progress: it
# is not known before how much that is.
truncate -s 1100m "$dir/zeros"
serve memory 1100M blkhash-file="$sums"
client "" 'h.trim(1100 << 20, 0)'
wait_for_sum "$dir/zeros"
stop
! grep 'blkhash: read .* missing bytes' "$log" || fail "progress of 0 bytes"

# Shell plugins do not run with a sanitizer.
[ "$SANITIZE" = no ] || exit 0

# Plugins that ignore a trim, that do something else, and that refuse a fast
# zero.
export dir
for trim in 'exit 0' 'printf gone | dd of=$dir/disk seek=$4 oflag=seek_bytes conv=notrunc status=none'; do
  serve eval get_size='stat -c %s $dir/disk' \
        pread='dd if=$dir/disk skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
        pwrite='dd of=$dir/disk seek=$4 oflag=seek_bytes conv=notrunc status=none' \
        can_trim='exit 0' trim="$trim" can_zero='exit 0' can_fast_zero='exit 0' \
        zero='case $5 in *fast*) echo ENOTSUP slow >&2; exit 1;; esac
              dd if=/dev/zero of=$dir/disk seek=$4 count=$3 iflag=count_bytes oflag=seek_bytes conv=notrunc status=none' \
        blkhash-file="$sums"
  client "" 'h.pwrite(b"data" * 50000, 0)
h.trim(65536, 65536)'
  wait_for_sum "$dir/disk"
  client "" 'try:
    h.zero(65536, 0, nbd.CMD_FLAG_FAST_ZERO)
    sys.exit(1)
except nbd.Error as e:
    assert e.errno == "ENOTSUP" or e.errnum == 95, e
h.zero(65536, 65536)'
  wait_for_sum "$dir/disk"
  stop
done

# A hole that is not reported to read as zeros is read.
rm -f "$dir/holes"
truncate -s 1m "$dir/holes"
write_data "$dir/holes" 0 1048576
serve eval get_size='stat -c %s $dir/holes' \
      pread='dd if=$dir/holes skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
      can_extents='exit 0' extents='echo $4 $3 hole' blkhash-file="$sums"
client "" 'h.block_status(1 << 20, 0, lambda *_: 0)
h.pread(600000, 0)'
wait_for_sum "$dir/holes"
stop

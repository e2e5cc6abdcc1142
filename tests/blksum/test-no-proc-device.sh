#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Without /proc block devices are still read by direct I/O: new data from
# another host is read, although the page cache has old data.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "sanitizers need /proc"
requires_root
requires_program losetup

make_image "$dir/raw"
attach "$dir/raw"
hide_proc
# The open descriptor keeps pages in the cache.
exec 5< "$device"
cat <&5 > /dev/null
write_data "$dir/raw" 6000000 1000000
prints_sum "$(reference "$dir/raw")" blksum "$device"
exec 5<&-

requires_qemu
make_image "$dir/raw"
for format in qcow2 vhdx; do
  qemu-img convert -f raw -O $format "$dir/raw" "$dir/$format"
  truncate -s 32m "$dir/$format"
  attach "$dir/$format"
  prints_sum "$(reference "$dir/raw")" blksum "$device"
  prints_sum "$(reference "$dir/raw")" blksum -c -f $format "$device"
done

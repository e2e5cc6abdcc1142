#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Without /proc block devices are read by direct I/O all the same: what another
# host wrote is seen, although what was there before is in the page cache.

. "$(dirname "$0")/functions.sh"
requires_root
requires_program losetup

# attach FILE: sets $device, if there are loop devices.
attach () {
  device=$(losetup --find --show "$1" 2> "$dir/losetup.log") ||
    skip "no loop device: $(cat "$dir/losetup.log")"
  at_exit "losetup -d $device"
}

make_image "$dir/raw"
attach "$dir/raw"
hide_proc
# The open descriptor keeps what is in the cache.
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

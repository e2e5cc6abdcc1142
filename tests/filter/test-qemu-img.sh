#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# qemu-img converts from and to the filter, and qemu-io writes in between: the
# sums are right.

. "$(dirname "$0")/../filter-functions.sh"
requires_qemu
requires_program qemu-io

make_image "$dir/image"
truncate -s 8m "$dir/blank"

for options in "" "-W" "-m 16 -W" "-S 0"; do
  serve file "$dir/image" blkhash-file="$sums"
  run 0 qemu-img convert $options -f raw -O raw "$uri" "$dir/copy"
  cmp "$dir/image" "$dir/copy" || fail "the copy differs"
  wait_for_sum "$dir/image"
  stop

  serve memory 8m blkhash-file="$sums"
  run 0 qemu-img convert -n $options -f raw -O raw "$dir/image" "$uri"
  wait_for_sum "$dir/image"
  # Again, over existing data.
  run 0 qemu-img convert -n $options -f raw -O raw "$dir/blank" "$uri"
  wait_for_sum "$dir/blank"
  stop
done

serve memory 8m blkhash-file="$sums"
run 0 qemu-img convert -n --target-is-zero -f raw -O raw "$dir/image" "$uri"
wait_for_sum "$dir/image"
stop

# Without -n, qemu-img opens the disk once more.
serve memory 8m blkhash-file="$sums"
run 0 qemu-img convert -f raw -O raw "$dir/image" "$uri"
wait_for_sum "$dir/image"
run 0 qemu-io -f raw -c "write -P 7 100 70000" -c "discard 1m 1m" \
              -c "write -z 4000001 9999" -c "aio_write -P 9 2m 1m" \
              -c "aio_write -z 2100k 64k" -c "aio_flush" "$uri"
copy "$uri" "$dir/copy"
wait_for_sum "$dir/copy"
stop

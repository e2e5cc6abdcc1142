#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# virt-v2v writes qcow2 images whose last compressed cluster ends before its
# last sector does.  They have the sum of their disk; with one byte less they
# have none.  Random images and cuts: see qcow2-compressed.py, which reads
# BLKHASH_SEED and BLKHASH_ROUNDS from the environment.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io

make_image "$dir/raw"
write_data "$dir/raw" 7000000 1388608 # to the end
sum=$(reference "$dir/raw")
cp --sparse=never "$dir/raw" "$dir/full" # written as whole clusters

# has ZLIB|ZSTD: blksum was built with it.
has () {
  grep -q "^#define HAVE_$1 1" "$abs_top_builddir/config.h"
}

# ends_short OPTIONS LIBRARY NAME: an empty image is filled through the driver
# "compress".  blksum must detect that its end is complete.
ends_short () {
  qemu-img create -q -f qcow2 ${1:+-o $1} "$dir/image" 8m
  options="driver=compress,file.driver=qcow2,file.file.driver=file"
  options="$options,file.file.filename=$dir/image"
  if command -v nbdcopy > /dev/null; then
    nbdcopy --synchronous --no-extents --request-size=2097152 \
            --sparse=2097152 -- "$dir/raw" [ qemu-nbd --image-opts "$options" ]
  else
    qemu-img convert -n -S 0 -f raw --target-image-opts "$dir/full" "$options"
  fi
  size=$(stat -c %s "$dir/image")
  echo "+ $1: $size bytes"
  if ! has $2; then
    [ $((size % 512)) = 0 ] ||
      refuses "$dir/image: .*without $3.*qemu-img convert" \
              blksum "$dir/image"
    return
  fi

  prints_sum "$sum" blksum "$dir/image"
  prints_sum "$sum" blksum -c "$dir/image"
  prints_sum "$sum" blksum -f qcow2 "$dir/image"
  prints_sum "$sum" blksum -U "$dir/image"
  prints_sum "$sum" blksum --no-extents "$dir/image"
  qemu-img create -q -f qcow2 -F qcow2 -b "$dir/image" "$dir/overlay"
  prints_sum "$sum" blksum -f qcow2 "$dir/overlay"

  # Any data up to the end of a sector or page: it is not read.
  head -c 4096 /dev/urandom >> "$dir/image"
  for end in $((size + 1)) $(((size + 511) / 512 * 512)) $((size + 4096)); do
    truncate -s $end "$dir/image"
    prints_sum "$sum" blksum "$dir/image"
  done

  for end in $((size - 1)) $((size - 2)) $(((size - 1) / 512 * 512)); do
    truncate -s $end "$dir/image"
    for option in "" "-c" "-f qcow2" "-U" "--no-extents"; do
      every 2 7 || continue
      refuses "$dir/image: .*truncated" blksum $option "$dir/image"
    done
    refuses "$dir/overlay: '$dir/image': .*truncated" \
            blksum -f qcow2 "$dir/overlay"
  done
}

ends_short "" ZLIB zlib
ends_short compression_type=zstd,extended_l2=on ZSTD zstd
if [ -z "$wrapper" ]; then
  ends_short compression_type=zstd ZSTD zstd
  ends_short compat=0.10 ZLIB zlib
  ends_short cluster_size=4k ZLIB zlib
  ends_short cluster_size=2m ZLIB zlib
fi

requires_inflating
rounds 3 24 12
"$PYTHON" "$abs_top_srcdir/tests/blksum/qcow2-compressed.py" "$dir"

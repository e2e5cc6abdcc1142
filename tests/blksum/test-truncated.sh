#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A truncated image has no sum, wherever the cut is: qemu reads missing data as
# zeros.  A cut that removes no data leaves the sum unchanged.

. "$(dirname "$0")/../functions.sh"
requires_qemu

make_image "$dir/raw"
write_data "$dir/raw" 7000000 1388608 # to the end
sum=$(reference "$dir/raw")

# cut_at SIZE: exit status 2 and no sum, or the sum of the whole image.
cut_at () {
  head -c "$1" "$dir/image" > "$dir/cut"
  status=0
  blksum -d sha256 "$dir/cut" > "$dir/stdout" 2> "$dir/stderr" || status=$?
  case $status in
    0) [ "$(cut -d' ' -f1 "$dir/stdout")" = "$sum" ] ||
         fail "wrong sum of an image cut at $1" ;;
    2) [ ! -s "$dir/stdout" ] || fail "printed a sum, cut at $1"
       says_of "$dir/cut"
       refused=$((refused + 1)) ;;
    *) fail "exit status $status, cut at $1" ;;
  esac
}

# cuts FORMAT [OPTION]...: cuts at many places, most of which remove data.
cuts () {
  echo "+ $*"
  rm -f "$dir/image"
  qemu-img convert -f raw -O "$@" "$dir/raw" "$dir/image"
  prints_sum "$sum" blksum "$dir/image"
  size=$(stat -c %s "$dir/image")
  refused=0
  for part in 5 20 40 60 80 95; do
    cut_at $((size * part / 100))
  done
  [ $refused -ge 5 ] || fail "only $refused of 6 cuts were detected: $*"
  cut_at $((size - 65536))
  cut_at $((size - 513))
  cut_at $((size - 1))
  echo "$refused of 9 cuts were detected"
}

cuts qcow2
cuts qcow2 -c
cuts qcow2 -c -o compression_type=zstd
cuts qcow2 -o cluster_size=4k
cuts qcow2 -o extended_l2=on
cuts vmdk
cuts vmdk -o subformat=streamOptimized
cuts vdi
cuts vhdx

# Shorter than any header: a few bytes are always raw.
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/image"
for size in 4 7 8 71 72 103 104 511 512 65535 65536; do
  head -c $size "$dir/image" > "$dir/cut"
  if [ $size -lt 8 ]; then
    prints_sum "$(reference "$dir/cut")" blksum "$dir/cut"
  else
    refuses "$dir/cut: " blksum "$dir/cut"
  fi
done
refuses "$dir/cut: " blksum -f qcow2 "$dir/cut"

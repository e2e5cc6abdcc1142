#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A truncated image in a format that is read with -f has no sum, wherever the cut
# is: qemu reads missing data as zeros.  A cut that removes no data may leave the
# sum unchanged.  Formats that are detected are in test-truncated.sh.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

# Data that compresses, data that does not, and data to the end, but no multiple
# of the clusters of most formats.
make_image raw
truncate -s 3m raw
yes blkhash | dd of=raw bs=65536 seek=16 count=8 iflag=fullblock conv=notrunc \
                 status=none
write_data raw 2900000 245728
sum=$(reference raw)

# cuts FILE MINIMUM COMMAND...: truncates FILE, which the image that COMMAND
# hashes consists of, at many places.  At least MINIMUM cuts of all must be
# refused; exit status 2 and no sum, or the sum of the whole image.
cuts () {
  file=$1
  minimum=$2
  shift 2
  echo "+ $*, cuts of $file"
  cp "$file" whole
  run 0 "$@"
  whole_sum=$(cut -d' ' -f1 stdout)
  size=$(stat -c %s whole)
  refused=0
  for cut in 64 511 1024 1536 2048 4096 $((size / 20)) $((size / 5)) \
             $((size / 2 + 1)) $((size * 4 / 5)) $((size * 19 / 20)) \
             $((size - 65537)) $((size - 4096)) $((size - 513)) \
             $((size - 512)) $((size - 281)) $((size - 1)); do
    [ $cut -gt 0 ] && [ $cut -lt $size ] || continue
    every 2 3 || continue
    head -c $cut whole > "$file"
    status=0
    "$@" > stdout 2> stderr || status=$?
    case $status in
      0) [ "$(cut -d' ' -f1 stdout)" = "$whole_sum" ] ||
           fail "wrong sum, cut at $cut of $size" ;;
      2) [ ! -s stdout ] || fail "printed a sum, cut at $cut of $size"
         refused=$((refused + 1)) ;;
      *) fail "exit status $status, cut at $cut of $size" ;;
    esac
  done
  mv whole "$file"
  echo "$refused cuts were refused"
  ! is_long || [ $refused -ge $minimum ] || fail "only $refused: $*"
}

# converted FORMAT MINIMUM [OPTION]...: cuts of an image that qemu-img makes.
converted () {
  format=$1
  minimum=$2
  shift 2
  rm -f image*
  qemu-img convert -f raw -O $format "$@" raw image
  cuts image $minimum blksum -f $format image
}

converted vpc 14
converted vpc 15 -o subformat=fixed
converted vdi 17 -o static=on
converted vhdx 12 -o subformat=fixed

# ---- vmdk: the extents and the descriptor ----

# descriptor LINE...: creates the descriptor "image".
descriptor () {
  printf '%s\n' '# Disk DescriptorFile' version=1 CID=12345678 \
         parentCID=ffffffff 'createType="twoGbMaxExtentFlat"' '# Extent description' \
         "$@" '' '# The Disk Data Base' '#DDB' '' \
         'ddb.adapterType = "ide"' > image
}

descriptor 'RW 2048 FLAT "raw" 4096' 'RW 4096 FLAT "raw" 0'
cuts raw 17 blksum -f vmdk image
for name in monolithicFlat twoGbMaxExtentFlat twoGbMaxExtentSparse; do
  rm -f image*
  qemu-img convert -f raw -O vmdk -o subformat=$name raw image
  [ $name != twoGbMaxExtentSparse ] || name=s001
  case $name in s001) ;; twoGb*) name=f001 ;; *) name=flat ;; esac
  cuts image-$name 14 blksum -f vmdk image
done

# A descriptor with a line less is one of a smaller disk.
descriptor 'RW 2048 FLAT "raw" 4096' 'RW 2048 FLAT "raw" 2048' \
           'RW 2048 FLAT "raw" 0'
cp image whole
run 0 blksum -f vmdk image
whole_sum=$(cut -d' ' -f1 stdout)
lines=$(wc -l < whole)
n=0
while [ $n -lt $lines ]; do
  head -n $n whole > image
  status=0
  blksum -f vmdk image > stdout 2> stderr || status=$?
  if [ $status = 0 ]; then
    [ "$(cut -d' ' -f1 stdout)" = "$whole_sum" ] || fail "wrong sum, $n lines"
  else
    [ $status = 2 ] && [ ! -s stdout ] || fail "exit status $status, $n lines"
  fi
  n=$((n + 1))
done
head -n 8 whole > image
refuses "image: .*descriptor.*truncated.*DDB" blksum -f vmdk image

# ---- Layers ----

for format in vpc vmdk; do
  rm -f image* top
  qemu-img convert -f raw -O $format raw image
  qemu-img create -q -f qcow2 -F $format -b image top 3m
  cuts image 14 blksum -f qcow2 top
done

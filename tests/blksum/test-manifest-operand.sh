#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# manifest:FILE stands for the image whose manifest FILE is.  Without the prefix
# a manifest is refused.

. "$(dirname "$0")/../functions.sh"

refmanifest () {
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$@"
}
cd "$dir"
make_image image

# Sum, hash spec and size are those of the manifest.
for spec in sha256/64k sha512/4k md5/64k/linear sha256/64k/s64 null/64k; do
  refmanifest $(of_spec $spec) image > m.blkm
  sum=$(reference $(of_spec $spec) image)
  prints_sum "$sum" blksum manifest:m.blkm
  prints_sum "$sum" blksum -d $spec manifest:m.blkm
  prints_sum "$sum" sh -c 'blksum manifest:- < m.blkm'
  prints_sum "$sum" sh -c 'cat m.blkm | blksum manifest:-'
  [ "$(blksum --tag --no-names -d $spec image)" = \
    "$(blksum --tag --no-names manifest:m.blkm)" ] || fail "the tag differs"
  run 0 blksum --output=json manifest:m.blkm
  grep -q '"format":"manifest","size":8388608,"data-bytes":[1-9][0-9]*,"zero-bytes":0,"hole-bytes":[1-9]' "$dir/stdout" || fail "JSON"
done
# In a list; with operands after it that cannot be opened.
refmanifest image > m.blkm
blksum --tag manifest:m.blkm manifest:m.blkm > list
sed 's/m.blkm/none/' list > list.none
cat list list.none > both
run 0 blksum --check list
run 2 blksum --check both
[ "$(grep -c ": OK$" "$dir/stdout")" = 2 ] &&
  [ "$(grep -c ": FAILED open or read$" "$dir/stdout")" = 2 ] || fail "--check"

for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size image > short
  truncate -s $size hole
  for file in short hole; do
    refmanifest $file > m.blkm
    prints_sum "$(reference $file)" blksum manifest:m.blkm
    run 0 blksum --output=json manifest:m.blkm
    grep -q "\"size\":$size," "$dir/stdout" || fail "JSON with the size $size"
    blksum --manifest own.blkm $file > /dev/null
    prints_sum "$(reference $file)" blksum manifest:own.blkm
  done
  rm hole
done

# Several operands, one of which fails.
refmanifest -d md5 image > m.blkm
run 2 blksum image manifest:m.blkm manifest:none image
[ "$(cat "$dir/stdout")" = "$(reference image)  image
$(reference -d md5 image)  manifest:m.blkm
$(reference image)  image" ] || fail "not three sums"
says_once "manifest:none: cannot open: No such file"

# Options that contradict the manifest; the defaults of others do not.
while read -r options asked; do
  options=$(echo $options | tr , ' ')
  refuses "manifest of blk-md5/64k, not of $asked$" \
          blksum $options manifest:m.blkm
done << 'END'
-d,sha256 blk-sha256/64k
-b,4k blk-md5/4k
-d,md5/64k/s4 blk-md5/64k/s4
-d,md5/64k/linear blk-md5/64k/linear
-d,md5,-b,4k blk-md5/4k
END
sum=$(reference -d md5 image)
for options in "-d md5" "-b 64k" "-d md5/64k"; do
  prints_sum "$sum" blksum $options manifest:m.blkm
done
refuses "this is a manifest" blksum --manifest out manifest:m.blkm
refuses "this is a manifest" blksum -f raw manifest:m.blkm
refuses "manifest:m.blkm: this is a manifest" \
        blkhash compare -f raw manifest:m.blkm image
refuses "manifest:m.blkm: this is a manifest" \
        blkhash compare -F raw image manifest:m.blkm
run 0 blkhash compare -f raw image manifest:m.blkm
[ ! -e out ] || fail "made a manifest of a manifest"

# Damaged manifests.
head -c 700 m.blkm > cut
refuses "manifest:cut: the manifest is cut off" blksum manifest:cut
refuses "manifest:-: the manifest is cut off" \
        sh -c 'cat cut | blksum manifest:-'
cp m.blkm flipped
printf x | dd of=flipped bs=1 seek=530 conv=notrunc status=none
refuses "manifest:flipped: the record at byte 512 has a wrong CRC" \
        blksum manifest:flipped
refuses "not a blkhash manifest" blksum manifest:image
refuses "too short" blksum manifest:/dev/null
refuses "Is a directory" blksum manifest:.
for corpus in wrong-sum:'the sum is not that of the leaves' \
              part:'a part of an image' overlap:'earlier records' \
              many:'more leaves than' key:'later version' \
              zeros-as-data:'at byte 512 has a block of zeros as data' \
              version:'unsupported version'; do
  refuses "${corpus#*:}" blksum \
    "manifest:$abs_top_srcdir/tests/fuzz/manifest/${corpus%%:*}.blkm"
done

# A manifest without the prefix is an error, and is not hashed as a file.
refuses "m.blkm: .*looks like a manifest.*manifest:NAME.*-f raw" blksum m.blkm
refuses "looks like a manifest" blksum -d md5 ./m.blkm
prints_sum "$(reference m.blkm)" blksum -f raw m.blkm
prints_sum "$(reference m.blkm)" sh -c 'blksum < m.blkm'
truncate -s 1m guest
dd if=m.blkm of=guest conv=notrunc status=none
refuses "looks like a manifest" blksum guest
cp image manifest:m.blkm
prints_sum "$(reference -d md5 image)" blksum manifest:m.blkm
prints_sum "$(reference image)" blksum ./manifest:m.blkm

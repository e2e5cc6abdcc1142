#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A vpc (VHD) with a parent has no sum: qemu would read data of the parent as
# zeros.  Neither has a vpc whose footers contradict each other.  The size of the
# disk is the current size in the footer, not the geometry that qemu may use, and
# a footer at the end of a file is not hashed unless -f raw is given.

. "$(dirname "$0")/../functions.sh"
requires_qemu
cd "$dir"

# craft FIRST LAST: creates an image with these types in its first and last
# footer.
craft () { "$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" vpc image "$@"; }

# Dynamic, with and without the footer at the end.
truncate -s 1m raw
for last in 3 0; do
  craft 3 $last
  prints_sum "$(reference raw)" blksum -f vpc image
done
# In older versions the last byte is missing.
craft 3 3
truncate -s -1 image
prints_sum "$(reference raw)" blksum -f vpc image
# Fixed.
craft 0 2
prints_sum "$(reference raw)" blksum -f vpc image

# refused REGEX: refused in all ways to open it, except as raw.
refused () {
  refuses "$1" blksum -f vpc image
  qemu-img create -q -u -f qcow2 -F vpc -b image top 1m
  refuses "image': .*$1" blksum -f qcow2 top
  json='json:{"driver":"vpc","file":{"driver":"file","filename":"image"}}'
  qemu-img create -q -u -f qcow2 -F vpc -b "$json" top 1m
  refuses "cannot be checked" blksum -f qcow2 top
  prints_sum "$(reference image)" blksum -f raw image
}

for types in '4 4' '3 4' '4 3' '4 0' '0 4'; do
  craft $types
  refused "parent.*-f raw"
done
for types in '4 4' '3 4' '4 3'; do
  craft $types
  refuses "parent.*-f raw" blksum image
done
# Unknown types; and a fixed disk that begins like a dynamic one, as its guest
# can write.
for types in '5 5' '3 5' '2 2' '3 2'; do
  craft $types
  refused "type.*-f raw"
done
# Dynamic, without the footer at the start.
craft 0 3
refused "first footer is lost.*-f raw"

# Truncated at the end of the block allocation table.
craft 3 0
truncate -s 1539 image
refused "block allocation table"

# ---- The size of the disk ----

# made KIND CREATOR CYLINDERS [SIZE [FOOTER]]: creates an image of the file disk;
# a cylinder has 8192 bytes.
made () {
  "$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" vpc_of image disk "$@"
}

# warns_and_prints REGEX SUM COMMAND: as prints_sum, but with a warning.
warns_and_prints () {
  wanted_warning=$1
  wanted_sum=$2
  shift 2
  run 0 "$@"
  says_once "$wanted_warning"
  [ "$(cut -d ' ' -f 1 stdout)" = "$wanted_sum" ] || fail "$*"
}

# The second disk ends within a block.
for size in 73728 71680; do
  : > disk
  write_data disk 0 20000
  write_data disk 60000 $((size - 60000))
  sum=$(reference disk)
  for kind in dynamic fixed; do
    for creator in win qem2 d2v tap CTXS vbox vpc vs wa; do
      for cylinders in 9 8 0 10; do
        every 5 || continue
        made $kind $creator $cylinders
        case $creator,$((cylinders * 8192)) in
          *,$size | win,* | qem2,* | d2v,* | tap,* | CTXS,*)
            prints_sum $sum blksum -f vpc image
            ;;
          *)
            warns_and_prints "image: .* $size bytes, but $((cylinders * 8192)) \
by.*CHS.*qemu-img.*force_size_calc=current_size" $sum blksum -f vpc image
            ;;
        esac
      done
    done
  done
done

# By all paths, as a layer too; the disk above is larger.
warning='71680 bytes, but 65536 by'
cp disk larger
truncate -s 80k larger
larger=$(reference larger)
qemu-img create -q -u -f qcow2 -F vpc -b image top 80k
qemu-img create -q -u -f qcow2 -F qcow2 -b top above 80k
for kind in dynamic fixed; do
  made $kind vbox 8
  for options in -U --no-extents --cache; do
    warns_and_prints "$warning" $sum blksum $options -f vpc image
  done
  for options in "-f qcow2 top" "-f qcow2 above" "-U -f qcow2 above"; do
    warns_and_prints "image': .*$warning" $larger blksum $options
  done
done

# Disks that differ after the end by the geometry.
mv image first
cp disk other
printf 'x' | dd of=other bs=1 seek=70000 conv=notrunc status=none
mv disk kept
mv other disk
made fixed vbox 8
mv kept disk
run 1 blkhash compare -f vpc -F vpc first image

# ---- A size that contradicts the file ----

for size in 71168 72192 0 1000000000; do
  made fixed win 9 $size
  refused "$size bytes, but 71680 are before the footer"
  refuses "$size bytes, but 71680.*-f raw" blksum image
  made fixed vbox 9 $size 511
  refused "$size bytes, but 71680 are before the footer"
done
# A part in the middle is missing.
made fixed win 9
{ head -c 8192 image; tail -c +12289 image; } > shorter
mv shorter image
refused "71680 bytes, but 67584 are before the footer"
# The end of the footer is missing; qemu reads zeros for it.
for footer in 510 300 85; do
  made fixed win 9 '' $footer
  refused "the vpc footer.*passes the end"
done
# Two footers with different sizes.
made dynamic win 9
head -c -512 image > start
made dynamic win 9 71168
tail -c 512 image >> start
mv start image
refused "71680 bytes, and its last one of 71168"
refuses "71680 bytes, and its last one of 71168.*-f raw" blksum image

# ---- Without -f ----

with_input () { "$@" < image; }
after_gap () {
  { head -c 5 > gap && "$@"; } < with-gap
}
for footer in 512 511; do
  made fixed win 9 '' $footer
  prints_sum $sum blksum -f vpc image
  refuses "looks like a vpc image.*-f vpc.*-f raw" blksum image
  prints_sum "$(reference image)" blksum -f raw image
  run 0 blksum disk
  { cat stdout; echo "$sum  image"; } > list
  run 2 blksum --check list
  grep -q "image: .*-f vpc" stderr || fail "--check does not name -f vpc"
  # Standard input can only be raw.
  refuses "-: .*-f vpc.*-f raw" with_input blksum
  prints_sum "$(reference image)" with_input blksum -f raw
  { printf gap12; cat image; } > with-gap
  refuses "-: .*-f vpc.*-f raw" after_gap blksum -
  prints_sum "$(reference image)" after_gap blksum -f raw
  # Damaged: once, also if small files are hashed in parallel.
  printf x | dd of=image bs=1 seek=71700 conv=notrunc status=none
  warning="image: .*footer is damaged.*-f raw"
  warns_and_prints "$warning" "$(reference image)" blksum image
  warns_and_prints "-: .*footer is damaged" "$(reference image)" \
                   with_input blksum
  prints_sum "$(reference image)" blksum -f raw image
  cp disk another
  run 0 blksum another image disk
  says_once "$warning"
  [ "$(wc -l < stdout)" = 3 ] || fail "not three sums"
done
# Dynamic, without the footer at the start; a footer after the position of
# standard input does not end a shorter image.
craft 0 3
refuses "first footer is lost.*-f raw" blksum image
refuses "-: .*-f raw" with_input blksum
made fixed win 9
size=$(stat -c %s image)
at_end () {
  { head -c $((size - 500)) > gap && "$@"; } < image
}
tail -c 500 image > end
prints_sum "$(reference end)" at_end blksum

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Our programs replace only files that they wrote, and never the disk, for all
# paths that they write.  They refuse before it reads an image, or if the file was put
# there meanwhile, when it has read it; and the file is unchanged.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

make_image image
blksum --manifest whole image > stdout
cp whole old
list_changes $(stat -c %s image) > changes
mkdir parts three
blkhash parts --part 0/2 image parts
blkhash parts --part 1/2 image parts
blkhash parts --part 1/3 image three

# keeps REGEX FILE COMMAND...: COMMAND refuses to replace FILE.
# There is no progress, and none of parts, before an image is read.
keeps () {
  keeps_regex=$1 file=$2
  shift 2
  cp -p $file before
  inode=$(stat -c %i $file)
  : > progress
  refuses "$keeps_regex" "$@" --progress=9 9> progress
  ! grep -qvx 0/100 progress || fail "an image was read"
  cmp before $file || fail "$file was changed"
  [ "$(stat -c %i $file)" = $inode ] || fail "$file was replaced"
}

# All paths that are written; "part" has the name that --part chooses.
part=three/part-000000-of-000003.blkm
keeps_all () {
  keeps "$1" m blksum --manifest m image
  keeps "$1" m blkhash update --changed changes --manifest m old image
  keeps "$1" m blkhash merge --manifest m parts/part-00000?-of-000002.blkm
}
keeps_part () {
  cp m $part
  keeps "$1" $part blkhash parts --part 0/3 image three
  rm $part
}

# Files that are no manifest, including other output of blksum.
no="exists, and is not a manifest that can be replaced:"
blksum --tag image > list
for other in image list changes; do
  cp $other m
  keeps_all "m $no \(not a\|too short to be a\) blkhash manifest"
  keeps_part "$part $no it does not begin like a manifest"
done
printf x > m
keeps_all "m $no too short"
keeps_part "$no it does not begin like a manifest"

# As many zeros as a header has bytes.
head -c 512 /dev/zero > m
keeps_all "m $no not a blkhash manifest"
keeps_part "$part $no it does not begin like a manifest"

# A raw disk to whose start a guest wrote a manifest, or only its header.
for len in 512 "$(stat -c %s whole)"; do
  head -c $len whole > m
  head -c 100000 image >> m
  keeps_all "m $no the record at byte\|m $no trailing data after"
  head -c $len whole > m
  truncate -s 8m m
  keeps_all "m $no the record at byte\|m $no trailing data after"
done

# A manifest that is cut off, at the end of a record too; a damaged one; and one
# of a later version.
for len in 100 512 "$(($(stat -c %s whole) - 56))" "$(($(stat -c %s whole) - 1))"; do
  head -c $len whole > m
  keeps_all "m $no \(too short\|the manifest is cut off\)"
done
cp whole m
printf '\252' | dd of=m bs=1 seek=1000 conv=notrunc status=none
keeps_all "m $no the record at byte [0-9]* has a wrong CRC"
(printf 'blkhash-manifest 2\n'; tail -c +20 whole) > m
keeps_all "m $no unsupported version"

# The image itself, also if it is empty or a manifest: by any name, and as
# standard input.
: > empty
cp whole manifest
both="cannot be both the image and its manifest"
from_stdin () { blksum "$@" < $image; }
for image in empty manifest; do
  ln -s $image link
  ln $image hard
  for name in $image ./$image link hard; do
    keeps "$name $both" $image blksum --manifest $name -f raw $image
    refuses "$name $both" from_stdin --manifest $name
  done
  blksum --manifest old.$image -f raw $image > stdout
  list_changes $(stat -c %s $image) > none
  keeps "$image $both" $image blkhash update --changed none \
        --manifest $image -f raw old.$image $image
  mkdir one
  blkhash parts --state x --part 0/1 -f raw $image one
  cp -p $image one/part-000000-of-000001.blkm
  keeps "$both" one/part-000000-of-000001.blkm blkhash parts --state x \
        --part 0/1 -f raw one/part-000000-of-000001.blkm one
  rm -r link hard one
done

# Another program puts a file there while the image is read: it is not replaced,
# whether there was a manifest before or not.
truncate -s 400m large
write_data large 0 30000000
blksum --manifest of.large large > stdout
list_changes 419430400 0 419430400 > all
mkdir beside
while read -r target others how; do
  for before in "" of.large; do
    rm -rf beside/*
    [ $others = none ] || blkhash parts --part 1/2 large beside
    [ -z "$before" ] || cp $before beside/$target
    refuses "$target $no" midway "echo notes > put; mv put beside/$target" \
            $how -t 1
    [ "$(cat beside/$target)" = notes ] || fail "their file was changed"
    [ -z "$(ls beside | grep -vx "$target\|$others")" ] ||
      fail "left behind: $(ls beside)"
  done
done << 'END'
m none --manifest beside/m large
m none blkhash update --changed all --manifest beside/m of.large large
part-000000-of-000002.blkm plan\|part-000001.* blkhash parts --part 0/2 large beside
END

# blkhash export replaces no file at all, not even an empty one, or a manifest.
truncate -s 1m small
blksum -d sha256/4k --manifest small.blkm small > stdout
: > empty
for other in empty small.blkm small; do
  cp $other m
  for to in "verity small.blkm m" "leaves whole m" \
            "fsverity --descriptor m small.blkm"; do
    keeps "m exists, and is not replaced" m blkhash export --to $to
  done
done
rm -rf beside/*
run 2 midway "echo notes > beside/m" blkhash export --to leaves of.large beside/m
says "beside/m: writing [0-9]* bytes" "cannot create beside/m: File exists"
[ ! -s stdout ] && [ "$(cat beside/m)" = notes ] || fail "a file was replaced"
[ "$(ls beside)" = m ] || fail "left behind: $(ls beside)"

# An image of several files: none of them is replaced.
requires_qemu
: > base
qemu-img create -q -f qcow2 -b base -F raw top 1m
for direct in 1 0; do
  BLKSUM_DIRECT=$direct
  export BLKSUM_DIRECT
  keeps "base $both" base blksum --manifest base -f qcow2 top
done

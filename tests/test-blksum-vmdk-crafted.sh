#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A vmdk whose embedded descriptor names other files, has no capacity, or is
# invalid, is refused: qemu would read any file that it names.

. "$(dirname "$0")/functions.sh"
requires_qemu

truncate -s 1m "$dir/raw"
write_data "$dir/raw" 0 100000
qemu-img convert -f raw -O vmdk "$dir/raw" "$dir/good"
prints_sum "$(reference "$dir/raw")" blksum "$dir/good"
echo "$test_name: a secret" > "$dir/secret"

# descriptor TEXT: $dir/image becomes the good image with this descriptor, which
# starts at sector 1.
descriptor () {
  cp "$dir/good" "$dir/image"
  head -c 10240 /dev/zero | dd of="$dir/image" bs=512 seek=1 conv=notrunc \
                               status=none
  printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n%b' "$1" |
    dd of="$dir/image" bs=512 seek=1 conv=notrunc status=none
}

# capacity LITTLE-ENDIAN-OCTAL: sets it in the header of $dir/image, in sectors.
capacity () {
  printf "$1" | dd of="$dir/image" bs=1 seek=12 conv=notrunc status=none
}

alone='parentCID=ffffffff\ncreateType="monolithicSparse"\n'
descriptor "${alone}RW 2048 SPARSE \"image\"\n"
prints_sum "$(reference "$dir/raw")" blksum "$dir/image"

no_sum () {
  refuses "$dir/image: " blksum "$dir/image"
  prints_sum "$(reference "$dir/image")" blksum -f raw "$dir/image"
}

for file in /etc/passwd "$dir/secret" ../../etc/passwd; do
  flat='parentCID=ffffffff\ncreateType="monolithicFlat"\n'
  descriptor "${flat}RW 1 FLAT \"$file\" 0\n"
  no_sum
  capacity '\000\000\000\000\000\000\000\000'
  no_sum
  descriptor "${alone}RW 2048 SPARSE \"$file\"\n"
  no_sum
  descriptor "${alone}RW 2048 SPARSE \"image\"\nRW 1 FLAT \"$file\" 0\n"
  no_sum
  parent="parentCID=12345678\nparentFileNameHint=\"$file\"\n"
  descriptor "${parent}createType=\"monolithicSparse\"\nRW 2048 SPARSE \"image\"\n"
  no_sum
done

# Capacity 0 with a valid descriptor.
cp "$dir/good" "$dir/image"
capacity '\000\000\000\000\000\000\000\000'
no_sum
# A capacity that no file can have.
cp "$dir/good" "$dir/image"
capacity '\377\377\377\377\377\377\377\377'
no_sum

# A text descriptor without data is a vmdk, too.
printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n%b' \
       'parentCID=ffffffff\ncreateType="monolithicFlat"\n' > "$dir/image"
echo 'RW 1 FLAT "/etc/passwd" 0' >> "$dir/image"
no_sum

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A vmdk whose embedded descriptor names other files, has no capacity, or is
# invalid, is refused: qemu would read any file that it names.  One that is read,
# because qemu ignores the name, opens no other file.

. "$(dirname "$0")/../functions.sh"
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

# reads: $dir/image has the content of the good image, and neither blksum nor
# qemu opens the secret, which its descriptor names.
reads () {
  prints_sum "$(reference "$dir/raw")" blksum "$dir/image"
  [ -z "$wrapper" ] && [ "$SANITIZE" = no ] && command -v strace > /dev/null ||
    return 0
  run 0 strace -f -qq -e signal=none -e trace=%file -o "$dir/trace" \
      blksum "$dir/image"
  grep -q "$dir/image\"" "$dir/trace" || fail "strace shows no names"
  ! grep 'secret"\|passwd"' "$dir/trace" || fail "the other file was used"
}

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
  reads
  capacity '\000\000\000\000\000\000\000\000'
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

# ---- A descriptor of 40 sectors ----

craft () { "$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" "$@"; }

# large_descriptor LINES: qemu reads the first 20 sectors.
large_descriptor () {
  printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n%b' \
         "${alone}RW 2048 SPARSE \"$dir/secret\"\n" > "$dir/text"
  "$PYTHON" -c 'print("#\n" * 5000)' >> "$dir/text"
  printf '%b' "$1" >> "$dir/text"
  craft sparse_of "$dir/image" "$dir/raw" "$dir/text" 40
}

large_descriptor '#DDB\n'
reads
large_descriptor "parentFileNameHint=\"$dir/secret\"\n"
refuses "image: .*with a parent" blksum "$dir/image"

# ---- Parts of an image ----

# A part of a split image has no descriptor.
run 0 qemu-img convert -f raw -O vmdk -o subformat=twoGbMaxExtentSparse \
      "$dir/raw" "$dir/split.vmdk"
refuses "split-s001.vmdk: .*is one part of a split.*give the descriptor" \
  blksum "$dir/split-s001.vmdk"
prints_sum "$(reference "$dir/raw")" blksum -f vmdk "$dir/split.vmdk"

# The first part of a stream ends without its footer, in a sector or after it.
craft stream_of "$dir/stream" "$dir/raw"
prints_sum "$(reference "$dir/raw")" blksum "$dir/stream"
for size in 70000 70144; do
  head -c $size "$dir/stream" > "$dir/image"
  refuses "image: the vmdk image is cut short" blksum "$dir/image"
done
# A footer with capacity 0 would make the disk empty.
cp "$dir/stream" "$dir/image"
size=$(stat -c %s "$dir/image")
printf '\000\000' | dd of="$dir/image" bs=1 seek=$((size - 1024 + 12)) \
  conv=notrunc status=none
refuses "image: .*different sizes of the disk" blksum "$dir/image"

# ---- A damaged grain ----

# The second grain, which begins with the sector of the disk.
"$PYTHON" - "$dir/stream" "$dir/image" << 'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
grain = next(at for at in range(65536, len(data), 512)
             if data[at:at + 8] == struct.pack("<Q", 128))
data[grain + 100:grain + 106] = b"damage"
open(sys.argv[2], "wb").write(data)
END
for options in "" "-b 4k" "-b 16m" "-t 1"; do
  refuses "image: compressed data at offset 65536 of the disk is damaged" \
    blksum $options "$dir/image"
done
run 2 blkhash compare "$dir/raw" "$dir/image"
says_once "image: compressed data at offset 65536 of the disk is damaged"
# The same below a qcow2.
qemu-img create -q -f qcow2 -b "$dir/image" -F vmdk "$dir/over.qcow2"
refuses "over.qcow2: compressed data at offset 65536 of the disk is damaged" \
  blksum -f qcow2 "$dir/over.qcow2"

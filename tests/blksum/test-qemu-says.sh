#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If qemu does not open an image, all its messages are shown, one on a line,
# with the names that the user gave instead of our options for qemu.

. "$(dirname "$0")/../functions.sh"
requires_qemu
[ "$PYTHON" != no ] || skip "python3 is missing"

make_image "$dir/raw"

# in_plain_words: no line contains our options or descriptors.
in_plain_words () {
  ! grep -q 'driver=\|json:\|/proc/self\|blk_new_open' "$dir/stderr" ||
    fail "a message shows our options for qemu"
}

# A vhdx whose log was not replayed: the advice of qemu is shown in two lines.
"$PYTHON" - "$dir/make-dirty.py" << 'END'
import sys
open(sys.argv[1], "w").write(r"""
import struct, sys

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

def put(f, at, block):
    block[4:8] = bytes(4)
    block[4:8] = struct.pack("<I", crc32c(block))
    f.seek(at)
    f.write(block)

guid = bytes(range(1, 17))
with open(sys.argv[1], "r+b") as f:
    for at in 0x10000, 0x20000:         # both headers: there is a log
        f.seek(at)
        header = bytearray(f.read(4096))
        header[48:64] = guid
        log = struct.unpack("<Q", header[72:80])[0]
        put(f, at, header)
    end = f.seek(0, 2)
    entry = bytearray(4096)             # and it has an entry, of no sectors
    entry[:64] = struct.pack("<4sIIIQII16sQQ", b"loge", 0, 4096, 0, 1, 0, 0,
                             guid, end, end)
    put(f, log, entry)
""")
END
# Also for names that must be escaped in options of qemu.
for name in vhdx "a, b'c: d" "$(printf 'new\nline')"; do
  image=$dir/$name
  shown=$(printf %s "$name" | tr '\n' '?' | sed 's/?/; /')
  qemu-img convert -f raw -O vhdx "$dir/raw" "$image"
  "$PYTHON" "$dir/make-dirty.py" "$image"
  for options in "" "-f vhdx" "--cache" "-U"; do
    run 2 blksum $options "$image"
    [ ! -s "$dir/stdout" ] || fail "printed a sum"
    says ": VHDX image file '.*' .* contains a log that needs to be replayed$" \
         ": To replay the log, run:$" ": qemu-img check -r all '.*'$"
    says_of "$dir/$shown"
    in_plain_words
  done
done
run 2 blksum "$dir/vhdx"
says "" "" ": qemu-img check -r all '$dir/vhdx'$"

# The advice works.
qemu-img check -q -r all "$dir/vhdx"
prints_sum "$(reference "$dir/raw")" blksum "$dir/vhdx"

# Two lines for a vhdx that is truncated, without our internal name.
qemu-img convert -f raw -O vhdx "$dir/raw" "$dir/image"
size=$(stat -c %s "$dir/image")
head -c $((size * 95 / 100 / 65536 * 65536)) "$dir/image" > "$dir/cut"
run 2 blksum "$dir/cut"
says_of "$dir/cut"
in_plain_words
! grep 'Could not open' "$dir/stderr" || fail "the name is repeated"

# A file that is not in the format.
for name in raw "a, b'c: d.raw"; do
  cp "$dir/raw" "$dir/$name" 2> "$dir/log" || :
  refuses "$dir/$name: invalid VPC image$" blksum -f vpc "$dir/$name"
  in_plain_words
done

# The message names the file if it is another one than the image.
qemu-img convert -f raw -O vmdk "$dir/raw" "$dir/base"
printf '\377' | dd of="$dir/base" bs=1 seek=4 conv=notrunc status=none
qemu-img create -q -u -f qcow2 -F vmdk -b "$dir/base" "$dir/top" 8m
refuses "$dir/top: .*'$dir/base': .*version" blksum -f qcow2 "$dir/top"
in_plain_words

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If compressed clusters of a qcow2 cannot be decompressed, the error is that
# the read failed, not that the connection was lost.

. "$(dirname "$0")/../functions.sh"
requires_qemu

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
qemu-img convert -c -f raw -O qcow2 "$dir/image" "$dir/good"
prints_sum "$sum" blksum "$dir/good"
size=$(stat -c %s "$dir/good")

# corrupt OFFSET: writes 4 KiB that are invalid in a deflate stream.
corrupt () {
  cp "$dir/good" "$dir/bad"
  head -c 4096 /dev/zero | tr '\0' '\377' |
    dd of="$dir/bad" bs=4096 seek=$(($1 / 4096)) conv=notrunc status=none
}

for offset in $((size / 4)) $((size / 2)) $((size * 3 / 4)); do
  corrupt "$offset"
  for options in "" "--cache" "-t 1" "-U" "-f qcow2"; do
    refuses "$dir/bad: .*Input/output error" blksum $options "$dir/bad"
  done
done
prints_sum "$(reference "$dir/bad")" blksum -f raw "$dir/bad"

# All clusters are corrupt; the next operand is still hashed.
corrupt $((size / 2))
run 2 blksum "$dir/bad" "$dir/image"
[ "$(cat "$dir/stdout")" = "$sum  $dir/image" ] ||
  fail "the next operand was not hashed"
says_once "$dir/bad: .*Input/output error"

# qemu-nbd closes the connection during the last reads, without a message.
head -c 1048576 "$dir/image" > "$dir/small"
qemu-img convert -c -f raw -O qcow2 "$dir/small" "$dir/good"
corrupt $(($(stat -c %s "$dir/good") - 20000))
printf '#!/bin/sh\nexec %s "$@" 2> /dev/null\n' "$(command -v qemu-nbd)" \
  > "$dir/mute"
chmod +x "$dir/mute"
mv "$dir/mute" "$dir/bin/qemu-nbd"
for options in "" "-U" "-f qcow2"; do
  refuses "$dir/bad: \(lost the connection\|cannot read\)" \
          blksum $options "$dir/bad"
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A message is one line that contains the reason, for names of any length.

. "$(dirname "$0")/../functions.sh"

part=$(printf '%0240d' 0)
path=$dir
while [ ${#path} -lt 1500 ]; do
  path=$path/$part
done
mkdir -p "$path"

# The line of the sum contains the whole name.
make_image "$path/image"
sum=$(reference "$path/image")
run 0 blksum "$path/image"
[ "$(cat "$dir/stdout")" = "$sum  $path/image" ] || fail "the name differs"

refuses ": .*No such file" blksum "$path/missing"
refuses ": .*File name too long" blksum "$dir/$(printf '%01500d' 0)"
refuses ": .*Is a directory" blksum "$path"
: > "$path/empty"
refuses ": .*truncated" blksum -f qcow2 "$path/empty"
printf 'LUKS\272\276\000\001%01000d' 0 > "$path/luks"
refuses ": .*LUKS" blksum "$path/luks"
refuses ": .*truncated" midway "truncate -s 4m '$path/image'" -U -t 1 \
        "$path/image"

# Newlines in a name, and a name of newlines only.
refuses ": .*No such file" blksum "$path/a
b"
refuses ": .*No such file" blksum "$(printf '%01500d' 0 | tr 0 '\n')x"

requires_qemu
make_image "$path/image"
qemu-img convert -f raw -O qcow2 "$path/image" "$path/qcow2"
prints_sum "$sum" blksum "$path/qcow2"
prints_sum "$sum" blksum -f qcow2 "$path/qcow2"
refuses ": .*not in qcow2 format\|: .*not a qcow2" blksum -f qcow2 "$path/image"
head -c 400000 "$path/qcow2" > "$path/cut"
refuses ": .*truncated" blksum "$path/cut"
refuses ": .*truncated" blksum -f qcow2 "$path/cut"
refuses ": .*VPC" blksum -f vpc "$path/image"

# A long name in a header: the name of a backing file has up to 1023 bytes.
(cd "$path/.." && : > base && truncate -s 8m base &&
 qemu-img create -q -u -f qcow2 -F raw -b "$(printf '%01020d' 0)" \
          "$path/backed" 8m)
refuses ": .*backing file" blksum "$path/backed"
refuses ": .*backing file" blksum -f qcow2 "$path/backed"

# A long URI.
refuses "nbd+unix.*: " blksum "nbd+unix:///$path?socket=$dir/none"
refuses "nbd+unix.*: .*long" blksum "nbd+unix:///?socket=$path/none"

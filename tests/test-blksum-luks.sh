#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Encrypted images are refused with advice.  With -f raw their bytes are hashed,
# with --object and --image-opts their content.

. "$(dirname "$0")/functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")
printf secret > "$dir/key"
secret=secret,id=key,file=$dir/key

# One millisecond of key derivation: this is not a test of encryption.
luks=driver=luks,file.filename=$dir/luks,key-secret=key
qcow2=driver=qcow2,file.filename=$dir/qcow2,encrypt.key-secret=key

# qemu-img sometimes fails on a busy machine, because it cannot measure the time
# of the derivation.
create () {
  for try in 1 2 3 4 5 6 7 8; do
    qemu-img create -q --object "$secret" "$@" 8m 2> "$dir/create.log" &&
      return
    grep -q 'accurate CPU usage' "$dir/create.log" || break
  done
  skip "cannot create a LUKS image: $(cat "$dir/create.log")"
}
create -f luks -o key-secret=key,iter-time=1 "$dir/luks"
create -f qcow2 "$dir/qcow2" \
       -o encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=1
for target in "$luks" "$qcow2"; do
  qemu-img convert -n -f raw --object "$secret" --target-image-opts \
           "$dir/raw" "$target"
done

refuses "LUKS.*-f raw.*--object.*--image-opts" blksum "$dir/luks"
refuses "encrypted.*--object.*--image-opts.*-f raw" blksum "$dir/qcow2"
for image in luks qcow2; do
  prints_sum "$(reference "$dir/$image")" blksum -f raw "$dir/$image"
done

prints_sum "$sum" blksum --object "$secret" --image-opts "$luks"
prints_sum "$sum" blksum --object "$secret" --image-opts "$qcow2"

# As a backing file, too, it must end with a whole sector.
qemu-img create -q -f qcow2 "$dir/top" 8m
backing="driver=qcow2,file.filename=$dir/top,backing.driver=luks"
backing="$backing,backing.key-secret=key,backing.file.filename=$dir"
prints_sum "$sum" blksum --object "$secret" --image-opts "$backing/luks"
head -c -100 "$dir/luks" > "$dir/cut"
refuses "not a multiple of 512" \
        blksum --object "$secret" --image-opts "$backing/cut"

# Version 2, which qemu does not support, and a version that does not exist.
head -c 65536 "$dir/luks" > "$dir/luks2"
printf '\002' | dd of="$dir/luks2" bs=1 seek=7 conv=notrunc status=none
refuses "LUKS2.*-f raw.*cryptsetup.*/dev/mapper" blksum "$dir/luks2"
prints_sum "$(reference "$dir/luks2")" blksum -f raw "$dir/luks2"
from_stdin () { blksum < "$dir/luks2"; }
prints_sum "$(reference "$dir/luks2")" from_stdin
printf '\003' | dd of="$dir/luks2" bs=1 seek=7 conv=notrunc status=none
prints_sum "$(reference "$dir/luks2")" blksum "$dir/luks2"

# Without the secret, with a wrong one, and with one in a missing file.
refuses "driver=luks.*" blksum --image-opts "$luks"
printf wrong > "$dir/key"
refuses "driver=qcow2.*" blksum --object "$secret" --image-opts "$qcow2"
refuses "driver=qcow2.*$dir/none" \
        blksum --object "secret,id=key,file=$dir/none" --image-opts "$qcow2"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --image-opts: operands are options of qemu, and must contain the driver.

. "$(dirname "$0")/functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"

prints_sum "$sum" blksum --image-opts "driver=qcow2,file.filename=$dir/qcow2"
prints_sum "$sum" blksum --image-opts \
           "driver=qcow2,file.driver=file,file.filename=$dir/qcow2"
prints_sum "$(reference "$dir/qcow2")" blksum --image-opts \
           "driver=raw,file.filename=$dir/qcow2"

# A part of a raw file.
tail -c +1048577 "$dir/raw" | head -c 2097152 > "$dir/part"
prints_sum "$(reference "$dir/part")" blksum --image-opts \
           "driver=raw,offset=1m,size=2m,file.filename=$dir/raw"

# A comma in a name is escaped by another one.
cp "$dir/qcow2" "$dir/a,b"
prints_sum "$sum" blksum --image-opts "driver=qcow2,file.filename=$dir/a,,b"

refuses "file.filename=$dir/qcow2: .*driver" \
        blksum --image-opts "file.filename=$dir/qcow2"
refuses "driver=qcow2,file.filename=$dir/none: " \
        blksum --image-opts "driver=qcow2,file.filename=$dir/none"
for json in 'json:{"driver":"qcow2","file":{"filename":"x"}}' 'json:{}' json:; do
  refuses "$json: --image-opts does not accept JSON: use \
driver=FORMAT,file.filename=FILE$" blksum --image-opts "$json"
done
refuses "driver=nonsense" \
        blksum --image-opts "driver=nonsense,file.filename=$dir/qcow2"
# Messages of qemu are shown with the operand of the user.
for options in '' -U; do
  for name in qcow2 a,,b; do
    opts=driver=qcow2,nonsense=1,file.filename=$dir/$name
    refuses "$opts: [^:]*does not support the option 'nonsense'$" \
            blksum $options --image-opts "$opts"
    ! grep -q json: "$dir/stderr" || fail "a message shows our options for qemu"
  done
done

# Contradicting options: the last one does not override the first.
for opts in driver=raw,driver=qcow2 driver=qcow2,driver=raw \
            driver=qcow2,read-only=on,read-only=off; do
  refuses "given twice" blksum --image-opts "$opts,file.filename=$dir/qcow2"
done
refuses "'backing' has both a value" blksum --image-opts \
        "driver=qcow2,backing=,backing.driver=raw,file.filename=$dir/qcow2"
refuses "'file' has both a value" blksum --image-opts \
        "driver=qcow2,file.filename=$dir/qcow2,file="
prints_sum "$sum" blksum --image-opts "driver=qcow2,read-only,driver=qcow2,"\
"file.filename=$dir/qcow2,backing=,noforce-share,"
refuses "not a valid option name" \
        blksum --image-opts "driver=qcow2,file.filename=$dir/qcow2,=x"
refuses "nested too deeply" blksum --image-opts \
        "driver=raw,$(printf '%0100d' 0 | sed 's/0/file./g')filename=$dir/raw"

# Files are opened read-only.
cp "$dir/qcow2" "$dir/protected"
opts=driver=qcow2,read-only=off,file.filename=$dir/protected
prints_sum "$sum" blksum --image-opts "$opts"
prints_sum "$sum" blksum -U --image-opts "$opts,force-share=off"
cmp "$dir/qcow2" "$dir/protected" || fail "the image was changed"

# Names that JSON must escape, and names that qemu accepts in no JSON: Latin-1,
# and a code point that is no character.
for name in 'a "b"\c' "$(printf 'new\nline\001')" "$(printf 'caf\351')" \
            "$(printf 'no\357\277\277')"; do
  cp "$dir/qcow2" "$dir/$name" || continue
  for options in '' -U; do
    prints_sum "$sum" blksum --no-names $options --image-opts \
               "driver=qcow2,file.filename=$dir/$name"
    prints_sum "$sum" blksum --no-names $options --image-opts \
               "driver=qcow2,file.filename=$dir/$name,backing="
    prints_sum "$sum" blksum --no-names $options -f qcow2 "$dir/$name"
    prints_sum "$sum" blksum --no-names $options "$dir/$name"
  done
  run 2 blksum -f qed "$dir/$name"
  ! grep -q 'json:\|driver=' "$dir/stderr" ||
    fail "a message shows our options for qemu"
done

refuses '.*--format' blksum --image-opts -f qcow2 "$dir/qcow2"
refuses '.*--image-opts' blksum --object secret,id=a,data=b "$dir/qcow2"

# manifest:FILE is a manifest with --image-opts too: no option begins like that.
blksum --manifest "$dir/blkm" "$dir/raw" > "$dir/stdout"
prints_sum "$sum" blksum --image-opts "manifest:$dir/blkm"
for order in "manifest:$dir/blkm driver=qcow2,file.filename=$dir/qcow2" \
             "driver=qcow2,file.filename=$dir/qcow2 manifest:$dir/blkm"; do
  run 0 blksum --compare --image-opts $order
done

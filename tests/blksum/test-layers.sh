#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# No incomplete layer of an image is read, qemu never probes a format, and a
# change of any file is detected, for all forms of names of layers that qemu
# supports.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io

make_image "$dir/raw"
write_data "$dir/raw" 7000000 1388608 # to the end
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
head -c 2000000 "$dir/qcow2" > "$dir/cut"
cd "$dir"

# ---- Layers of other lengths ----

head -c 70000 raw > odd
# Beyond the end of a backing file there are zeros.
qemu-img create -q -f qcow2 -F raw -b odd overlay 1m
cp odd long
truncate -s 1m long
prints_sum "$(reference long)" blksum -f qcow2 overlay

# A hole of one file, and data of the other at the same offset.
truncate -s 8m base
write_data base 8323072 65536
qemu-img create -q -f qcow2 -F raw -b base above 8m
qemu-io -f qcow2 -c 'write -q -P 7 1m 64k' -c 'write -q -P 0 1152k 256k' above
fallocate --dig-holes above
qemu-img convert -f qcow2 -O raw above flattened
prints_sum "$(reference flattened)" blksum -f qcow2 above
prints_sum "$(reference flattened)" blksum -f qcow2 -t 1 above

# ---- A truncated layer ----

# As a backing file.  A file name with a protocol is relative to the current
# directory.
mkdir sub
for name in file:cut "file:$dir/cut" "file://$dir/cut" "$dir/cut" ../cut; do
  qemu-img create -q -u -f qcow2 -F qcow2 -b "$name" sub/overlay 8m
  refuses 'cut.: .*truncated' blksum -f qcow2 sub/overlay
  qemu-img create -q -u -f qcow2 -F qcow2 -b "${name%cut}qcow2" sub/overlay 8m
  prints_sum "$sum" blksum -f qcow2 sub/overlay
done

# As a data file.
qemu-img create -q -f qcow2 -o data_file=file:data,data_file_raw=on \
         with-data 8m
qemu-img convert -n -f raw -O qcow2 raw with-data
prints_sum "$sum" blksum -f qcow2 with-data
truncate -s 100k data
refuses "data': .*truncated" blksum -f qcow2 with-data

# ---- Layers that qemu would probe, or that cannot be checked ----

for name in 'json:{"driver":"qcow2","file":{"driver":"file","filename":"cut"}}' \
            blkdebug::cut fat:.; do
  qemu-img create -q -u -f qcow2 -F qcow2 -b "$name" sub/overlay 8m
  refuses "cannot be checked: .*qemu-img rebase" blksum -f qcow2 sub/overlay
done
qemu-img create -q -u -f qcow2 -F quorum -b qcow2 overlay 8m
refuses "'quorum'" blksum -f qcow2 overlay
refuses "'quorum'" blksum -f quorum raw

# ---- The extents of a vmdk ----

# descriptor LINE...: creates a vmdk with these extents.
descriptor () {
  printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n' > vmdk
  printf 'parentCID=ffffffff\ncreateType="twoGbMaxExtentFlat"\n' >> vmdk
  printf '%s\n' "$@" '#DDB' >> vmdk
}

head -c 3145728 raw | tail -c 2097152 > part
descriptor 'RW 2048 FLAT "raw" 2048' 'RW 2048 FLAT "raw" 4096'
prints_sum "$(reference part)" blksum -f vmdk vmdk
prints_sum "$(reference part)" blksum -f vmdk "$dir/vmdk"
descriptor 'RW 2048 FLAT "raw" 14336'
run 0 blksum -f vmdk vmdk
for extent in 'RW 2048 FLAT "raw" 14337' 'RW 2048 FLAT "raw" 999999999999'; do
  descriptor "$extent"
  refuses "raw': .*truncated" blksum -f vmdk vmdk
done
cp raw file:raw
truncate -s 1m file:raw
descriptor 'RW 2049 FLAT "file:raw" 0'
refuses "file:raw': .*truncated" blksum -f vmdk vmdk
descriptor 'RW 16384 VMFS "raw"'
prints_sum "$sum" blksum -f vmdk vmdk
descriptor 'RW 16385 VMFS "raw"'
refuses "raw': .*truncated" blksum -f vmdk vmdk
# Extents that qemu ignores.
for extent in 'RW 2048 ZERO' 'RDONLY 2048 FLAT "raw" 0'; do
  descriptor 'RW 2048 FLAT "raw" 0' "$extent"
  refuses "$extent" blksum -f vmdk vmdk
done

# ---- Files that change while they are read ----

qemu-img create -q -f qcow2 -F qcow2 -b qcow2 middle
qemu-img create -q -f qcow2 -F qcow2 -b middle top
descriptor 'RW 16384 FLAT "raw" 0'
truncate -s 8m data
prints_sum "$sum" blksum -f qcow2 top

# changed FILE ARGUMENT...: blksum detects that FILE changes.
changed () {
  file=$1
  shift
  echo "+ midway: touch $file, then replace it: $*"
  for event in "touch $file" "cp -p $file new && mv new $file"; do
    refuses "'$file' changed while it was read" midway "$event" "$@"
  done
}
changed qcow2 -f qcow2 top
changed middle -f qcow2 top
changed data -f qcow2 with-data
refuses "'top' changed while it was read" \
        midway "cp -p top new && mv new top" -f qcow2 top
changed raw -f vmdk vmdk
run 0 midway 'touch middle' -U -f qcow2 top
run 0 midway 'cp -p middle new && mv new middle' -U -f qcow2 top
cp raw short
refuses "short: .*was truncated" midway 'truncate -s -1 short' \
        -U -f raw short

# ---- -U ----

cat > bin/qemu-nbd << 'END'
#!/bin/sh
echo "$*" >> "$0.log"
PATH=${PATH#*:} exec qemu-nbd "$@"
END
chmod +x bin/qemu-nbd
prints_sum "$sum" blksum -U -f qcow2 qcow2
grep -q '"filename":"qcow2".*"force-share":"on"' bin/qemu-nbd.log ||
  fail "qemu-nbd did not get the options: $(cat bin/qemu-nbd.log)"

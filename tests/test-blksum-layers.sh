#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# No incomplete layer of an image is read, qemu never probes a format, and a
# change of any file is detected, for all forms of names and options of layers
# that qemu supports.

. "$(dirname "$0")/functions.sh"
requires_qemu
requires_program qemu-io

make_image "$dir/raw"
write_data "$dir/raw" 7000000 1388608 # to the end
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/qcow2"
head -c 2000000 "$dir/qcow2" > "$dir/cut"
cd "$dir"

# opts OPTIONS: runs blksum --image-opts OPTIONS.
opts () { blksum --image-opts "$@"; }

# ---- Raw files that end within a sector ----

head -c 70000 raw > odd
prints_sum "$(reference odd)" blksum -f raw odd
for options in driver=raw,file.filename=odd driver=file,filename=odd \
               driver=raw,file.driver=raw,file.file.filename=odd \
               driver=luks,key-secret=a,file.filename=odd; do
  refuses "odd': its size, 70000 .*-f raw" opts "$options"
done

# A part of a file must begin and end at a sector.
head -c 66048 odd | tail -c 65536 > part
prints_sum "$(reference part)" \
           opts driver=raw,offset=512,size=64k,file.filename=odd
prints_sum "$(reference part)" opts driver=raw,offset=512,file.driver=raw,"\
file.size=66048,file.file.driver=file,file.file.filename=odd"
refuses 'set a size of 70144 bytes' \
        opts driver=raw,size=70144,file.filename=odd
refuses 'not a multiple of 512' opts driver=raw,offset=100,file.filename=raw
refuses 'offset of 100 bytes' \
        opts driver=raw,offset=100,file.driver=qcow2,file.file.filename=qcow2
refuses 'set an offset of 80000' \
        opts driver=raw,offset=80000,size=512,file.filename=odd
refuses "'size=1z'" opts driver=raw,size=1z,file.filename=raw

# Beyond the end of a backing file there are zeros.
qemu-img create -q -f qcow2 -F raw -b odd overlay 1m
cp odd long
truncate -s 1m long
prints_sum "$(reference long)" blksum -f qcow2 overlay
prints_sum "$(reference long)" opts driver=qcow2,file.filename=overlay
prints_sum "$(reference long)" opts driver=qcow2,file.filename=overlay,"\
backing.driver=raw,backing.file.filename=odd"

# A hole of one file, and data of the other at the same offset.
truncate -s 8m base
write_data base 8323072 65536
qemu-img create -q -f qcow2 -F raw -b base above 8m
qemu-io -f qcow2 -c 'write -q -P 7 1m 64k' -c 'write -q -P 0 1152k 256k' above
fallocate --dig-holes above
qemu-img convert -f qcow2 -O raw above flattened
prints_sum "$(reference flattened)" blksum -f qcow2 above
prints_sum "$(reference flattened)" blksum -f qcow2 -t 1 above

# ---- A truncated layer, in several descriptions ----

cp cut 'nbd:cut'
for image in \
  driver=raw,file.driver=qcow2,file.file.driver=file,file.file.filename=cut \
  driver=raw,file.driver=qcow2,file.file.filename=cut \
  driver=qcow2,file.driver=raw,file.file.driver=file,file.file.filename=cut \
  driver=qcow2,file.driver=raw,file.file.filename=cut \
  driver=qcow2,file.filename=nbd:cut \
  driver=luks,key-secret=a,file.driver=qcow2,file.file.filename=cut
do
  refuses 'cut.: .*truncated' opts "$image"
  whole=$(echo "$image" | sed 's/nbd:cut/qcow2/; s/=cut/=qcow2/')
  case $image in
    *luks*) refuses 'secret' opts "$whole" ;;
    *) prints_sum "$sum" opts "$whole" ;;
  esac
done

# In the middle of a file, as in a tar archive.
{ head -c 1000000 odd; head -c 12345 raw; } > archive
start=$(stat -c %s archive)
cat qcow2 odd >> archive
size=$(stat -c %s qcow2)
middle=driver=qcow2,file.driver=raw,file.offset=$start
prints_sum "$sum" \
           opts "$middle,file.size=$size,file.file.filename=archive"
refuses "archive': .*truncated" \
        opts "$middle,file.size=2000000,file.file.filename=archive"

# As a backing file.  A file name with a protocol is relative to the current
# directory.
mkdir sub
for name in file:cut "file:$dir/cut" "file://$dir/cut" "$dir/cut" ../cut; do
  qemu-img create -q -u -f qcow2 -F qcow2 -b "$name" sub/overlay 8m
  refuses 'cut.: .*truncated' blksum -f qcow2 sub/overlay
  refuses 'cut.: .*truncated' opts driver=qcow2,file.filename=sub/overlay
  qemu-img create -q -u -f qcow2 -F qcow2 -b "${name%cut}qcow2" sub/overlay 8m
  prints_sum "$sum" blksum -f qcow2 sub/overlay
done
backing=driver=qcow2,file.filename=sub/overlay,backing
refuses 'backing.driver=' opts "$backing.file.filename=qcow2"
prints_sum "$sum" opts "$backing.driver=qcow2,backing.file.filename=qcow2"
refuses "cut': .*truncated" \
        opts "$backing.driver=qcow2,backing.file.filename=cut"
prints_sum "$(reference long)" opts driver=qcow2,file.filename=overlay
truncate -s 1m empty
run 0 opts driver=qcow2,file.filename=overlay,backing=
grep -q "^$(reference empty)" stdout || fail "not empty"

# As a data file.
qemu-img create -q -f qcow2 -o data_file=file:data,data_file_raw=on \
         with-data 8m
qemu-img convert -n -f raw -O qcow2 raw with-data
given=driver=qcow2,file.filename=with-data,data-file
prints_sum "$sum" blksum -f qcow2 with-data
prints_sum "$sum" opts "$given.filename=data"
prints_sum "$sum" opts "$given.driver=raw,data-file.file.filename=data"
truncate -s 100k data
refuses "data': .*truncated" blksum -f qcow2 with-data
refuses "data': .*truncated" opts "$given.filename=data"
refuses "data': .*truncated" \
        opts "$given.driver=raw,data-file.file.filename=data"

# ---- Layers that qemu would probe, or that cannot be checked ----

for name in 'json:{"driver":"qcow2","file":{"driver":"file","filename":"cut"}}' \
            blkdebug::cut fat:.; do
  qemu-img create -q -u -f qcow2 -F qcow2 -b "$name" sub/overlay 8m
  refuses "cannot be checked.*--image-opts" blksum -f qcow2 sub/overlay
done
qemu-img create -q -u -f qcow2 -F quorum -b qcow2 overlay 8m
refuses "'quorum'" blksum -f qcow2 overlay
refuses "'quorum'" blksum -f quorum raw
for driver in quorum,vote-threshold=1,children.0.file.filename=raw \
              blkverify,raw.filename=raw,test.file.filename=raw \
              blkdebug,image.file.filename=raw \
              copy-on-read,file.file.filename=raw \
              throttle,throttle-group=a,file.file.filename=raw \
              preallocate,file.file.filename=raw; do
  refuses "${driver%%,*}' is not a driver that blksum can check" \
          opts "driver=$driver"
  refuses "file.driver=${driver%%,*}' is not a driver that blksum can check" \
          opts "driver=raw,file.driver=$(echo "$driver" | sed 's/,/,file./g')"
done
refuses "'file' .*cannot be checked" opts driver=qcow2,file=node
refuses "'backing' .*cannot be checked" opts driver=qcow2,"\
file.filename=qcow2,file.node-name=node,backing=node"
refuses "'extents' .*cannot be checked" opts driver=vmdk,"\
file.filename=raw,extents.0.driver=raw,extents.0.file.filename=raw"
refuses "qcow2 image inside of a vdi image" opts driver=qcow2,"\
file.driver=vdi,file.file.filename=raw"
refuses "set file.filename" opts driver=qcow2,file.driver=file
refuses "file.backing.driver=FORMAT" opts driver=raw,file.driver=qcow2,"\
file.file.filename=qcow2,file.backing.file.filename=raw"

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
prints_sum "$(reference part)" opts driver=vmdk,file.filename=vmdk
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
changed qcow2 --image-opts driver=qcow2,file.filename=qcow2
changed raw --image-opts driver=raw,file.filename=raw
changed middle --image-opts driver=qcow2,file.filename=top
run 0 midway 'touch middle' -U -f qcow2 top
run 0 midway 'cp -p middle new && mv new middle' -U -f qcow2 top
cp raw short
refuses "'short' was truncated" midway 'truncate -s -1 short' \
        -U --image-opts driver=raw,file.filename=short

# ---- -U with options that end in a comma ----

cat > bin/qemu-nbd << 'END'
#!/bin/sh
echo "$*" >> "$0.log"
PATH=${PATH#*:} exec qemu-nbd "$@"
END
chmod +x bin/qemu-nbd
prints_sum "$sum" blksum -U --image-opts driver=qcow2,file.filename=qcow2,
grep -q '"force-share":"on".*"filename":"qcow2"' bin/qemu-nbd.log ||
  fail "qemu-nbd did not get the options: $(cat bin/qemu-nbd.log)"

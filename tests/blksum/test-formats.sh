#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Images of other formats have the sum of their content: without -f those that
# are one complete file, with -f all formats that qemu-img can create here.

. "$(dirname "$0")/../functions.sh"
requires_qemu

make_image "$dir/raw"
sum=$(reference "$dir/raw")

# convert FORMAT [OPTION]...: creates $dir/image.
convert () {
  rm -f "$dir"/image*
  qemu-img convert -f raw -O "$@" "$dir/raw" "$dir/image"
}

# probed FORMAT [OPTION]...: the image is hashed without -f.
probed () {
  echo "+ $*"
  convert "$@"
  prints_sum "$sum" blksum "$dir/image"
  prints_sum "$sum" blksum -f "$1" "$dir/image"
  prints_sum "$(reference "$dir/image")" blksum -f raw "$dir/image"
}

probed vmdk
probed vmdk -o subformat=monolithicSparse
probed vmdk -o subformat=streamOptimized
probed vdi
probed vdi -o static=on
probed vhdx
probed vhdx -o subformat=fixed
probed vhdx -o block_size=1m

# asked FORMAT [OPTION]...: the image is refused without -f.
asked () {
  echo "+ $*"
  if ! convert "$@" 2> "$dir/convert.log"; then
    echo "not made here: $(cat "$dir/convert.log")"
    return
  fi
  # A format may round the size up.
  qemu-img convert -f "$1" -O raw "$dir/image" "$dir/twin"
  refuses "-f $1.*-f raw" blksum "$dir/image"
  prints_sum "$(reference "$dir/twin")" blksum -f "$1" "$dir/image"
  prints_sum "$(reference "$dir/image")" blksum -f raw "$dir/image"
}

asked vpc
asked vmdk -o subformat=monolithicFlat
asked vmdk -o subformat=twoGbMaxExtentSparse
asked vpc -o subformat=fixed

# ---- Formats that are not read ----

# unread FORMAT: $dir/image is detected, and refused in all ways to read the disk.
unread () {
  convert="qemu-img convert -f $1 -O qcow2 IMAGE COPY"
  refuses "a $1 image, which cannot be read: .*'$convert'.*-f raw" \
          blksum "$dir/image"
  refuses "in the format $1 cannot be read: .*'$convert'$" \
          blksum -f $1 "$dir/image"
  qemu-img create -q -u -f qcow2 -F $1 -b "$dir/image" "$dir/top" 8m
  refuses "of its backing file, '$1', is not one .*qemu-img convert" \
          blksum -f qcow2 "$dir/top"
  prints_sum "$(reference "$dir/image")" blksum -f raw "$dir/image"
}

for format in qcow qed parallels; do
  convert $format 2> "$dir/log" || continue
  unread $format
  # The advice is right.
  qemu-img convert -f $format -O qcow2 "$dir/image" "$dir/copy"
  prints_sum "$sum" blksum "$dir/copy"
done
printf '#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0 && %s%512d' \
       'mount -r -t iso9660 /dev/cloop $1
' 0 > "$dir/image"
unread cloop
truncate -s 0 "$dir/image"
truncate -s 4k "$dir/image"
for at in '0 Bochs Virtual HD Image' '32 Redolog' '48 Growing' '66 \002'; do
  printf "${at#* }" |
    dd of="$dir/image" bs=1 seek=${at%% *} conv=notrunc status=none
done
unread bochs

# The sparse types of ESX: the image itself, and as an extent of any type.
printf COWD > "$dir/image"
truncate -s 1m "$dir/image"
for options in '' '-f vmdk'; do
  refuses "type vmfsSparse, which cannot be read: .*-f raw" \
          blksum $options "$dir/image"
done
prints_sum "$(reference "$dir/image")" blksum -f raw "$dir/image"
for type in SPARSE VMFSSPARSE SESPARSE; do
  printf '# Disk DescriptorFile\nversion=1\nCID=12345678\n' > "$dir/vmdk"
  printf '%s\n' parentCID=ffffffff 'createType="vmfsSparse"' \
         "RW 2048 $type \"image\"" '#DDB' >> "$dir/vmdk"
  refuses "image': .*type [a-z]*Sparse, which cannot be read" \
          blksum -f vmdk "$dir/vmdk"
done
printf '\276\272\376\312\000\000\000\000' |
  dd of="$dir/image" conv=notrunc status=none
refuses "image': .*type seSparse, which cannot be read" \
        blksum -f vmdk "$dir/vmdk"
refuses "names no extent" blksum -f vmdk "$dir/image"

# ---- Sizes that are no multiple of 512 ----

# sized FORMAT KIND [ARGUMENT]...: creates $dir/image with the content of
# $dir/disk, and of exactly its size.
sized () {
  format=$1
  kind=$2
  shift 2
  "$PYTHON" "$abs_top_srcdir/tests/blksum/craft-image.py" $kind "$dir/image" \
            "$dir/disk" "$@"
}

# each_way COMMAND...: runs COMMAND blksum with the options of each way to read
# the image.
each_way () {
  "$@" blksum -f $format "$dir/image"
  "$@" env BLKSUM_DIRECT=0 blksum -f $format "$dir/image"
  "$@" blksum -U --no-extents -f $format "$dir/image"
  case $format in
    qcow2 | vdi) "$@" blksum "$dir/image" ;;
  esac
}

# layer COMMAND...: the same if the image is a layer.
layer () {
  "$@" blksum -f qcow2 "$dir/top"
}

for size in 1048576 1048577 1049087 1049100 511; do
  : > "$dir/disk"
  write_data "$dir/disk" 0 $size
  sum=$(reference "$dir/disk")
  down=$((size / 512 * 512))
  for made in "vdi vdi_of" "qcow2 qcow2_of" "vpc vpc_of dynamic win 9"; do
    sized $made
    # Not every size is accepted.
    if ! qemu-img info -f $format "$dir/image" > "$dir/log" 2>&1; then
      echo "not read here: $made $size: $(cat "$dir/log")"
      continue
    fi
    qemu-img create -q -u -f qcow2 -F $format -b "$dir/image" "$dir/top" 4m
    if [ $size = $down ]; then
      each_way prints_sum $sum
    elif [ $format = vdi ]; then
      each_way prints_sum $sum
      layer refuses "disk has $size bytes, and qemu.* read $((down + 512))$"
    else
      each_way refuses "disk has $size bytes, and qemu would read $down$"
      layer refuses "disk has $size bytes, and qemu would read $down$"
    fi
  done
done
# A raw layer, which qemu rounds up with zeros, is exact.
for size in 1049100 511; do
  truncate -s $size "$dir/disk"
  cp "$dir/disk" "$dir/long"
  truncate -s 4m "$dir/long"
  sum=$(reference "$dir/long")
  qemu-img create -q -u -f qcow2 -F raw -b "$dir/disk" "$dir/top" 4m
  prints_sum "$sum" blksum -f qcow2 "$dir/top"
  prints_sum "$sum" blksum -U --no-extents -f qcow2 "$dir/top"
done

# A wrong format, and an unknown one.
refuses "$dir/raw: " blksum -f qcow2 "$dir/raw"
refuses "$dir/raw: " blksum -f vmdk "$dir/raw"
for format in nonsense 'qcow2,x=y' '' ' raw'; do
  refuses "unknown format '$format'.*; the formats here are raw, .*qcow2" \
          blksum -f "$format" "$dir/raw"
done

# Suggestions for names that qemu does not use.
for format in vhd:vpc VHD:vpc iso:raw img:raw; do
  refuses "unknown format '${format%:*}' (did you mean ${format#*:}?)" \
          blksum -f "${format%:*}" "$dir/raw"
done
refuses "unknown format 'nonsense'; " blksum -f nonsense "$dir/raw"
with_input () { "$@" < "$dir/raw"; }
refuses "unknown format 'vhd' (did you mean vpc?)" with_input blksum -f vhd
refuses "unknown format 'vhd' (did you mean vpc?)" blksum -f vhd nbd://x/

# The list has the formats of the installed qemu, and all formats if there is
# none.
cat > "$dir/bin/qemu-img" << 'END'
#!/bin/sh
printf 'usage: qemu-img\n\nSupported formats: blkdebug file qcow2 raw vpc\n\n'
echo 'See <https://qemu.org/qcow> for vmdk.'
END
chmod +x "$dir/bin/qemu-img"
refuses "here are raw, qcow2, vpc$" blksum -f nonsense "$dir/raw"
printf '#!/bin/sh\nexit 1\n' > "$dir/bin/qemu-img"
refuses "here are raw, .*qcow2.*vmdk" blksum -f nonsense "$dir/raw"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The data of a qcow2 is read from its file, and only compressed clusters
# through qemu-nbd, which has the image open until the end.

. "$(dirname "$0")/../functions.sh"
requires_qemu
unset BLKSUM_DIRECT

# A qemu-nbd that serves another disk of the same size: data that is read
# through it changes the sum.  -f qcow2, because a probed image must be the file
# that qemu opens.
make_image "$dir/raw"
sum=$(reference "$dir/raw")
small=$(reference -b 4096 "$dir/raw")
large=$(reference -b 16777216 "$dir/raw")
write_data "$dir/other" 0 8388608
other=$(reference "$dir/other")
qemu-img convert -f raw -O qcow2 "$dir/other" "$dir/other.qcow2"
qemu_nbd=$(command -v qemu-nbd)
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
: > "$dir/started"
exec $qemu_nbd --read-only --image-opts \
  "driver=qcow2,file.driver=file,file.filename=$dir/other.qcow2"
END
chmod +x "$dir/bin/qemu-nbd"
through_qemu () { BLKSUM_DIRECT=0 blksum "$@"; }

# convert OPTION...: creates the qcow2.
convert () {
  echo "+ qemu-img convert $*"
  rm -f "$dir/started"
  qemu-img convert -f raw -O qcow2 "$@" "$dir/raw" "$dir/qcow2"
}

# direct OPTION...: such an image is read only from its file.
direct () {
  convert "$@"
  for options in "" "-c" "-t 1" "-t 7"; do
    prints_sum "$sum" blksum -f qcow2 $options "$dir/qcow2"
  done
  prints_sum "$small" blksum -f qcow2 -b 4k "$dir/qcow2"
  prints_sum "$large" blksum -f qcow2 -b 16m "$dir/qcow2"
  [ -e "$dir/started" ] || fail "qemu-nbd did not run"
  prints_sum "$other" through_qemu -f qcow2 "$dir/qcow2"
}
direct
direct -o cluster_size=4k
direct -o cluster_size=2m
direct -o compat=0.10
direct -o preallocation=metadata
direct -o extended_l2=on,cluster_size=128k

# The same for backing files: longer, shorter, and partly hidden.
qemu-img create -q -f qcow2 -F qcow2 -b "$dir/qcow2" "$dir/overlay" 8m
prints_sum "$sum" blksum -f qcow2 "$dir/overlay"
qemu-img create -q -f qcow2 -F raw -b "$dir/raw" "$dir/overlay" 8m
prints_sum "$sum" blksum -f qcow2 "$dir/overlay"
head -c 5m "$dir/raw" > "$dir/short"
qemu-img create -q -f qcow2 -F raw -b "$dir/short" "$dir/middle" 6m
qemu-img create -q -f qcow2 -F qcow2 -b "$dir/middle" "$dir/overlay" 8m
cp "$dir/short" "$dir/padded"
truncate -s 8m "$dir/padded"
prints_sum "$(reference "$dir/padded")" blksum -f qcow2 "$dir/overlay"
prints_sum "$other" through_qemu -f qcow2 "$dir/overlay"

# cluster FILE N: writes 64 KiB at N * 64 KiB, which are like no others.
cluster () {
  dd if="$dir/other" of="$1" bs=64k skip="$2" seek="$2" count=1 conv=notrunc \
     status=none
}

# Clusters that are next to each other in the file, but not on the disk, are read
# with one request: 16 at a time.
if [ -z "$wrapper" ] && [ "$SANITIZE" = no ] && command -v strace > /dev/null
then
  truncate -s 8m "$dir/scattered"
  for n in $(seq 0 31); do
    cluster "$dir/scattered" $((4 * n + 1))
  done
  qemu-img convert -f raw -O qcow2 "$dir/scattered" "$dir/scattered.qcow2"
  run 0 strace -f -qq -e signal=none -e trace=pread64 -o "$dir/reads" \
    "$(real_program "$BLKSUM")" -c -f qcow2 --no-names \
    "$dir/scattered.qcow2"
  [ "$(cat "$dir/stdout")" = "$(reference "$dir/scattered")" ] ||
    fail "the sum of scattered clusters"
  count=$(grep -c ', 1048576, ' "$dir/reads" || :)
  [ "$count" = 2 ] || fail "$count reads of 16 clusters"
fi

# They are at the same places in another file: each cluster of the overlay is at
# an offset before that of the next one in its backing file.
for name in base top; do
  truncate -s 8m "$dir/$name"
done
for n in $(seq 0 31); do
  cluster "$dir/base" $((4 * n))
  cluster "$dir/top" $((4 * n + 2))
done
qemu-img convert -f raw -O qcow2 "$dir/base" "$dir/base.qcow2"
qemu-img convert -f raw -O qcow2 "$dir/top" "$dir/top.qcow2"
qemu-img rebase -q -u -f qcow2 -F qcow2 -b "$dir/base.qcow2" "$dir/top.qcow2"
for n in $(seq 0 31); do
  cluster "$dir/base" $((4 * n + 2))
done
prints_sum "$(reference "$dir/base")" blksum -f qcow2 -t 1 "$dir/top.qcow2"

# These images are read through qemu-nbd.
for options in "-c" "-o cluster_size=2k"; do
  convert $options
  prints_sum "$other" blksum -f qcow2 "$dir/qcow2"
done
convert
prints_sum "$other" blksum -f qcow2 -U "$dir/qcow2"
prints_sum "$other" blksum -f qcow2 --no-extents "$dir/qcow2"

# Only the compressed cluster is read through qemu-nbd.
requires_program qemu-io
qemu-io -f qcow2 -c "write -c -P 7 6m 64k" "$dir/qcow2" > "$dir/io.log" ||
  fail "$(cat "$dir/io.log")"
truncate -s %512 "$dir/qcow2"
cp "$dir/raw" "$dir/mixed"
dd if="$dir/other" of="$dir/mixed" bs=64k skip=96 seek=96 count=1 \
   conv=notrunc status=none
prints_sum "$(reference "$dir/mixed")" blksum -f qcow2 "$dir/qcow2"

# A qemu-nbd that fails at first: the second one gets the remaining reads.
cp "$dir/bin/qemu-nbd" "$dir/other-qemu-nbd"
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
mkdir "$dir/second" 2> "$dir/mkdir.log" || exec $qemu_nbd "\$@"
exit 1
END
convert
for options in "-t 1" "-t 7" "-t 1 -b 4k" "-c"; do
  rm -rf "$dir/second"
  run 0 blksum -f qcow2 --no-names $options "$dir/qcow2"
  [ -d "$dir/second" ] || fail "qemu-nbd did not run"
  case $options in
    *4k) wanted=$small ;;
    *) wanted=$sum ;;
  esac
  [ "$(cat "$dir/stdout")" = "$wanted" ] || fail "expected $wanted: $options"
done
mv "$dir/other-qemu-nbd" "$dir/bin/qemu-nbd"

# A qemu-nbd that reports another size, or that exits early, is an error.
qemu-img create -q -f qcow2 "$dir/other.qcow2" 4m
convert
run 2 blksum -f qcow2 "$dir/qcow2"
says_once "disk has 8388608 bytes, and qemu would read 4194304$"
[ ! -s "$dir/stdout" ] || fail "printed a sum although the sizes differ"
rm "$dir/bin/qemu-nbd"

# The last cluster of the disk adjoins, and has no whole page.
truncate -s 3211776 "$dir/odd"
for n in 1 3 49; do
  write_data "$dir/odd" $((n * 65536)) 512
done
qemu-img convert -f raw -O qcow2 "$dir/odd" "$dir/odd.qcow2"
prints_sum "$(reference "$dir/odd")" blksum -f qcow2 "$dir/odd.qcow2"

truncate -s 256m "$dir/large"
write_data "$dir/large" 0 67108864
qemu-img convert -f raw -O qcow2 "$dir/large" "$dir/qcow2"
# With one thread, qemu-nbd has opened the image before the first read.
run 2 midway 'kill -9 $(cat /proc/$pid/task/$pid/children)' -t 1 "$dir/qcow2"
says_once "qemu-nbd"

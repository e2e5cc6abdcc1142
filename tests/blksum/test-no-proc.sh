#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Without /proc, as in a chroot, all sources are read in the same way: qemu
# opens the file that was checked, and nothing is left behind.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "sanitizers need /proc"
requires_qemu
hide_proc

# ---- All sources ----

make_image "$dir/raw"
sum=$(reference "$dir/raw")
prints_sum "$sum" blksum "$dir/raw"
from_stdin () { blksum < "$1"; }
prints_sum "$sum" from_stdin "$dir/raw"

# Names that JSON and qemu must not misinterpret.
strange="$dir/a \"b\\q',d:e%f=
ä"
for format in qcow2 vmdk vdi vhdx; do
  qemu-img convert -f raw -O $format "$dir/raw" "$dir/$format"
  cp "$dir/$format" "$strange"
  for options in "" "-U" "--no-extents" "-c" "-f $format"; do
    prints_sum "$sum" blksum $options "$dir/$format"
    prints_sum "$sum" blksum --no-names $options "$strange"
  done
  (cd "$dir" && prints_sum "$sum" blksum $format) || fail "see above"
done
qemu-img create -q -f qcow2 -F qcow2 -b "$dir/qcow2" "$dir/overlay"
prints_sum "$sum" blksum -f qcow2 "$dir/overlay"
refuses "names the backing file" blksum "$dir/overlay"
refuses "No such file" blksum "$dir/none"

if blksum nbd://localhost:1 2>&1 | grep -q connect &&
   command -v nbdkit > /dev/null; then
  start_nbdkit file "$dir/raw"
  prints_sum "$sum" blksum "$uri"
fi

# ---- The file that was checked is the file that qemu opens ----

: > "$dir/secret"
write_data "$dir/secret" 0 8388608
secret=$(reference "$dir/secret")
qemu-img create -q -f qcow2 -o data_file="$dir/data",data_file_raw=on \
         "$dir/naming" 8m
qemu-img convert -n -f raw -O qcow2 "$dir/secret" "$dir/naming"
qemu-img convert -f raw -O qcow2 "$dir/secret" "$dir/secret.qcow2"
qemu_nbd=$(command -v qemu-nbd)
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
eval "\$MEANWHILE"
exec $qemu_nbd "\$@"
END
chmod +x "$dir/bin/qemu-nbd"

# replaced REGEX COMMAND: blksum detects that the image was replaced meanwhile.
replaced () {
  MEANWHILE=$2
  export MEANWHILE
  for options in "-U" "-U -c" "-U --no-extents"; do
    rm -f "$dir/image"
    cp "$dir/qcow2" "$dir/image"
    cp "$dir/secret.qcow2" "$dir/another"
    echo "+ $2"
    refuses "$1" blksum $options "$dir/image"
  done
}
replaced "qemu opened another" "cat '$dir/naming' > '$dir/image'"
replaced "qemu opened another" "mv '$dir/another' '$dir/image'"
replaced "qemu opened another" "ln -sf '$dir/another' '$dir/image'"
replaced "" "ln -sf /dev/zero '$dir/image'"
MEANWHILE=
rm -f "$dir/image"
cp "$dir/qcow2" "$dir/image"
prints_sum "$sum" blksum -U "$dir/image"
rm "$dir/bin/qemu-nbd"

# ---- Nothing is left behind ----

truncate -s 64m "$dir/large"
write_data "$dir/large" 0 67108864
qemu-img convert -f raw -O qcow2 "$dir/large" "$dir/image"
is_gone () {
  ! [ -e "/proc/$1" ] || grep -q "^State:.*Z" "/proc/$1/status"
}
event="cat /proc/\$pid/task/\$pid/children > '$dir/children'; kill -9 \$pid"
run 137 midway "$event" -t 1 "$dir/image"
[ -s "$dir/children" ] || fail "qemu-nbd did not run"
for child in $(cat "$dir/children"); do
  wait_until is_gone "$child"
done
[ -z "$(ls "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"

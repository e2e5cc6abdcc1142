#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# On a file system without direct I/O, a qcow2 is read once, and qemu-nbd is
# started once.

. "$(dirname "$0")/../functions.sh"
requires_root
requires_qemu

mkdir "$dir/fs"
requires mount -t ramfs none "$dir/fs"
at_exit 'umount "$dir/fs"'
make_image "$dir/raw"
sum=$(reference "$dir/raw")
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/fs/qcow2"
! dd if="$dir/fs/qcow2" of="$dir/copy" iflag=direct bs=64k count=1 \
     2> "$dir/dd.log" || skip "ramfs has direct I/O here"

qemu_nbd=$(command -v qemu-nbd)
cat > "$dir/bin/qemu-nbd" << END
#!/bin/sh
echo started >> "$dir/starts"
exec $qemu_nbd "\$@"
END
chmod +x "$dir/bin/qemu-nbd"
qemu-img create -q -f qcow2 -F qcow2 -b "$dir/fs/qcow2" "$dir/overlay"

# once COMMAND: COMMAND prints the sum, and starts one qemu-nbd.
once () {
  : > "$dir/starts"
  prints_sum "$sum" "$@"
  [ "$(wc -l < "$dir/starts")" = 1 ] || fail "several qemu-nbd: $*"
}
once blksum "$dir/fs/qcow2"
once blksum -f qcow2 "$dir/overlay"

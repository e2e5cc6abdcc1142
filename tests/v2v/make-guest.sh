#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make-guest.sh FILE: creates a raw disk that virt-v2v detects as Debian and
# converts.  It does not boot: its kernel is a text file, and programs that
# virt-v2v runs in it do nothing; its shell is that of this machine.  Needs
# sfdisk and mke2fs, no root.

set -e

PATH=$PATH:/usr/sbin:/sbin
image=$1
version=6.1.0-0-fake
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cd "$root"
mkdir -p bin boot/grub dev etc/default etc/initramfs-tools etc/modprobe.d \
      lib/modules/$version/kernel proc root run sbin sys tmp usr/bin usr/sbin \
      var/lib/dpkg var/tmp

# copy PROGRAM: copies it with its libraries, to the same paths.  ldd prints
# lines "NAME => FILE (0x...)" and "FILE (0x...)".
copy () {
  for file in "$1" $(ldd "$1" | sed -n 's,^[^/]*\(/[^ ]*\) (0x.*,\1,p'); do
    mkdir -p ".${file%/*}"
    cp -L "$file" ".$file"
  done
}
copy /bin/sh
for program in cat cp mkdir mv rm; do
  copy /bin/$program
done

# stub NAME...: creates programs that do nothing.
stub () {
  for name; do
    printf '#!/bin/sh\nexit 0\n' > "$name"
    chmod +x "$name"
  done
}
stub usr/sbin/update-initramfs usr/sbin/grub-mkconfig usr/sbin/update-grub \
     usr/bin/apt-get

# "dpkg -L PACKAGE" lists its files.
cat > usr/bin/dpkg << END
#!/bin/sh
echo /boot/vmlinuz-$version
echo /lib/modules/$version
END
chmod +x usr/bin/dpkg

echo 'not a kernel' > boot/vmlinuz-$version
echo 'not an initrd' > boot/initrd.img-$version
echo CONFIG_VIRTIO_BLK=y > boot/config-$version
echo CONFIG_VIRTIO_NET=y >> boot/config-$version
# virt-v2v only reads its architecture.
cp bin/sh lib/modules/$version/kernel/virtio_blk.ko
cp bin/sh lib/modules/$version/kernel/virtio_net.ko

echo 12.0 > etc/debian_version
echo fake > etc/hostname
: > etc/initramfs-tools/modules
echo '/dev/sda1 / ext4 defaults 0 1' > etc/fstab
echo 'GRUB_CMDLINE_LINUX=""' > etc/default/grub
echo 'root:x:0:0:root:/root:/bin/sh' > etc/passwd
echo 'menuentry fake { }' > boot/grub/grub.cfg
cat > etc/os-release << END
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
ID=debian
END
cat > var/lib/dpkg/status << END
Package: linux-image-$version
Status: install ok installed
Architecture: all
Version: 6.1.0-1

END

# One partition, from 1 MiB to the end.
rm -f "$image"
truncate -s 257m "$image"
echo 'start=2048, type=83, bootable' | sfdisk -q "$image"
mke2fs -q -t ext4 -d "$root" -E offset=1048576,root_owner=0:0 "$image" 256m

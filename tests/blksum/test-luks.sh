#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Encrypted images are refused with advice.  With -f raw their bytes are hashed;
# the commands in the manual hash their content, unless a part of it is missing.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program jq
cd "$dir"

make_image raw
write_data raw 7000000 1388608 # to the end
sum=$(reference raw)
printf secret > passphrase.txt
secret=secret,id=key,file=passphrase.txt

# qemu-img sometimes fails on a busy machine, because it cannot measure the time
# of the derivation, here of one millisecond: this is not a test of encryption.
create () {
  for try in 1 2 3 4 5 6 7 8; do
    qemu-img create -q --object "$secret" "$@" 8m 2> create.log && return
    grep -q 'accurate CPU usage' create.log || break
  done
  skip "cannot create a LUKS image: $(cat create.log)"
}
create -f luks -o key-secret=key,iter-time=1 disk.luks
create -f qcow2 -o encrypt.format=luks,encrypt.key-secret=key \
       -o encrypt.iter-time=1 disk.qcow2
for target in driver=luks,file.filename=disk.luks,key-secret=key \
              driver=qcow2,file.filename=disk.qcow2,encrypt.key-secret=key; do
  qemu-img convert -n -S 0 -f raw --object "$secret" --target-image-opts \
           raw "$target"
done

hint="qemu-nbd --object, as blksum(1) shows.*-f raw"
refuses "LUKS.*$hint" blksum disk.luks
refuses "encrypted.*$hint" blksum disk.qcow2
refuses "encrypted.*qemu-nbd --object" blksum -f qcow2 disk.qcow2
qemu-img create -q -u -f qcow2 -F qcow2 -b disk.qcow2 top 8m
refuses "disk.qcow2': .*encrypted.*qemu-nbd --object" blksum -f qcow2 top
for image in disk.luks disk.qcow2; do
  prints_sum "$(reference $image)" blksum -f raw $image
done

# ---- The commands in the manual ----

# Ends the qemu-nbd of a command that did not connect to it.
qemu_nbd=$(command -v qemu-nbd)
cat > bin/qemu-nbd << END
#!/bin/sh
exec $qemu_nbd --pid-file="$dir/pid" "\$@"
END
chmod +x bin/qemu-nbd

# commands_for NAME: writes those for the image NAME, whose size is 8 MiB here.
commands_for () {
  sed -n '/^=head2 Encrypted/,/^=head2 Images/s/^ [$ ] *//p' \
      "$abs_top_srcdir/man/blkhash-images.pod" |
    sed -n "/^key=/p; /^image=.*=$1,/,/^blksum /p" |
    sed 's/--size 10g/--size 8m/' > "$1.commands"
  for line in key= image= 'blksum.*nbd+unix:'; do
    grep -q "^$line" "$1.commands" || fail "no '$line' for $1 in the manual"
  done
}

# manual NAME: runs them, and waits until qemu-nbd has ended.
manual () {
  rm -f pid
  result=0
  timeout $limit sh "$1.commands" || result=$?
  [ ! -s pid ] || wait_for_exit "$(cat pid)"
  return $result
}

# has_no_sum NAME: there is no sum, whatever the reason.
has_no_sum () {
  echo "+ manual $1: $(stat -c %s "$1") bytes"
  ! manual "$1" > stdout 2> stderr || fail "success"
  [ ! -s stdout ] || fail "printed a sum"
}

for image in disk.qcow2 disk.luks; do
  commands_for $image
  prints_sum "$sum" manual $image
  cp $image whole
  size=$(stat -c %s whole)
  for cut in $((size / 2)) $((size - 1)) $((size - 511)) $((size - 512)) \
             $((size - 65535)) $((size - 65536)) 4096 0; do
    head -c $cut whole > $image
    has_no_sum $image
  done
  cp whole $image
done
truncate -s -1 disk.qcow2
for options in '' '-f qcow2'; do
  refuses "disk.qcow2: .*truncated" blksum $options disk.qcow2
done
printf wrong > passphrase.txt
has_no_sum disk.luks
rm passphrase.txt
has_no_sum disk.luks

# ---- Version 2, which qemu does not support, and one that does not exist ----

head -c 65536 disk.luks > luks2
printf '\002' | dd of=luks2 bs=1 seek=7 conv=notrunc status=none
refuses "LUKS2.*-f raw.*cryptsetup.*/dev/mapper" blksum luks2
prints_sum "$(reference luks2)" blksum -f raw luks2
from_stdin () { blksum < luks2; }
prints_sum "$(reference luks2)" from_stdin
printf '\003' | dd of=luks2 bs=1 seek=7 conv=notrunc status=none
prints_sum "$(reference luks2)" blksum luks2

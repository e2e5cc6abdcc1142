#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A guest with two disks, one on an NBD server and one in a file.  virt-v2v
# converts it to qcow2, with a name that must be quoted, and copies both disks
# at once if it can.

. "$(dirname "$0")/functions.sh"
. "$(dirname "$0")/real-functions.sh"

make_image "$dir/data.img"
port=$((20000 + $$ % 10000))
until nbdkit -i 127.0.0.1 -p $port -P "$dir/pid" file "$dir/guest.img"; do
  port=$((port + 1))
done
wait_until test -s "$dir/pid"
kill_at_exit "$(cat "$dir/pid")"
cat > "$dir/guest.xml" << END
<domain type='kvm'>
  <name>guest</name>
  <memory>1048576</memory>
  <vcpu>1</vcpu>
  <os><type arch='$(uname -m)'>hvm</type><boot dev='hd'/></os>
  <devices>
    <disk type='network' device='disk'>
      <driver name='qemu' type='raw'/>
      <source protocol='nbd'><host name='localhost' port='$port'/></source>
      <target dev='sda' bus='scsi'/>
    </disk>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='$dir/data.img'/>
      <target dev='sdb' bus='scsi'/>
    </disk>
  </devices>
</domain>
END

parallel=
if virt-v2v --help | grep -q -e --parallel; then
  parallel='--parallel 2'
else
  echo "this virt-v2v copies one disk after the other"
fi
v2v 0 virt-v2v $parallel -i libvirtxml "$dir/guest.xml" \
    -o local -os "$dir/out" -of qcow2 -on "bob's disk"
cat "$dir/stdout" "$dir/stderr"
[ "$(wc -l < "$dir/sums")" = 3 ] || fail "not a line for each disk"
has_sum "$dir/out/bob's disk-sda" qcow2
has_sum "$dir/out/bob's disk-sdb" qcow2
# This disk has no guest, so it was not converted.
grep -q " = $(reference "$dir/data.img")\$" "$dir/sums" ||
  fail "the sum of the second disk differs"
run 0 blksum --check --strict "$dir/sums"
nothing_left

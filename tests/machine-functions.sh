# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: a virtual machine with a kernel of Debian, in which
# dm-verity and fs-verity can be used without touching those of this host.  See machine.py.
# "./quickstart check-long" unpacks the kernel and qemu.

. "$abs_top_srcdir/tests/unpacked.sh"
PATH=$PATH:/usr/sbin:/sbin

# requires_machine PROGRAM...: the machine has these programs.
requires_machine () {
  [ "$PYTHON" != no ] || skip "no python3"
  [ "$(uname -m)" = x86_64 ] || skip "the machine is an x86-64"
  requires_program qemu-system-x86_64 busybox ldd "$@"
  machine="--root $unpacked-kernel"
  for program; do
    machine="$machine --program $program"
  done
  for module in virtio_pci virtio_blk loop ext4 dm-verity sha512_generic; do
    machine="$machine --module $module"
  done
}

# run_machine SCRIPT DISK...: runs the script as root in the machine, which prints to
# $dir/machine; $append is added to the command line of the kernel.
append=
run_machine () {
  echo "+ machine $*"
  status=0
  "$PYTHON" "$abs_top_srcdir/tests/machine.py" $machine --append "quiet $append" "$@" \
    > "$dir/machine" 2> "$dir/console" || status=$?
  [ $status != 77 ] || skip "$(cat "$dir/machine")"
  cat "$dir/machine"
  [ $status = 0 ] || fail "the machine: exit status $status: $(cat "$dir/console")"
}

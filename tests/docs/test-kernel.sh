#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/kernel.md is right: after its other commands, those that begin with "# " are run as
# root in a virtual machine, which has their files.  Signatures are in a machine of their
# own: its kernel requires them.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/docs/guide-functions.sh"
. "$abs_top_srcdir/tests/machine-functions.sh"
requires_no_sanitizer
requires_machine veritysetup fsverity keyctl dd
requires_program mkfs.ext4 openssl
requires_nbdkit file
[ -f "$filter" ] || skip "built without nbdkit"

# as_root OPTIONS: runs the commands from $start on and before $end.
as_root () {
  append=$1
  commands '#'
  [ -s commands ] || fail "kernel.md: its commands for root were not found"
  { echo "mount /dev/vda /mnt && cd /mnt || exit"; cat commands; } > script
  rm -f files.ext4
  truncate -s 512M files.ext4
  run 0 mkfs.ext4 -q -b 4096 -O verity -d kernel files.ext4
  run_machine script files.ext4
  diff -u expected machine || fail "kernel.md: see above"
}

signed='## A signed root hash'
end='## In a registry'           # test-docs.sh runs that
page kernel nbdcopy
end=$signed
as_root

# Older kernels have no keyring of dm-verity.
echo 'ls -1 /sys/module/dm_verity/parameters' > script
run_machine script
grep -qx keyring_unsealed machine ||
  skip "the kernel of the machine has no keyring .dm-verity; all else passed"
start=$signed
end=
as_root 'dm_verity.keyring_unsealed=1 dm_verity.require_signatures=1'

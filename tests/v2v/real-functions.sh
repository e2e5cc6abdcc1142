# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests that run the real virt-v2v.

# A conversion takes minutes on a busy machine.
limit=3000

# libguestfs is only checked to exist: a check that it works takes minutes.
requires_program virt-v2v sfdisk mke2fs ldd
[ -e "$(ls -d /boot/vmlinuz* 2> /dev/null | head -n 1)" ] ||
  [ "$SUPERMIN_KERNEL" ] ||
  skip "no kernel in /boot for the appliance of libguestfs"

# KVM may exist and not work; set LIBGUESTFS_BACKEND_SETTINGS= if it works.
LIBGUESTFS_BACKEND=${LIBGUESTFS_BACKEND-direct}
LIBGUESTFS_BACKEND_SETTINGS=${LIBGUESTFS_BACKEND_SETTINGS-force_tcg}
LIBGUESTFS_CACHEDIR=$PWD/v2v/cache
export LIBGUESTFS_BACKEND LIBGUESTFS_BACKEND_SETTINGS LIBGUESTFS_CACHEDIR
mkdir -p v2v/cache

"$abs_top_srcdir/tests/v2v/make-guest.sh" "$dir/guest.img"
mkdir "$dir/out"

# v2v STATUS ARGUMENT...: runs blkhash-v2v ARGUMENT..., which exits with STATUS.
v2v () {
  v2v_status=$1
  shift
  run "$v2v_status" timeout -k 60 $limit \
      blkhash-v2v --sums "$dir/sums" --manifest-dir "$dir/out" "$@"
}

# has_sum DISK FORMAT: the results have its sum, which other programs compute
# too, and its manifest.
has_sum () {
  qemu-img convert -f "$2" -O raw "$1" "$dir/raw"
  echo "blk-sha256/64k ($1) = $(reference "$dir/raw")" > "$dir/line"
  grep -x -F -f "$dir/line" "$dir/sums" || fail "the sum of $1 is not in:
$(cat "$dir/sums")"
  blksum --manifest - "$dir/raw" | cmp - "$dir/out/${1##*/}.blkm" ||
    fail "the manifest of $1 differs"
  if $real_nbdcopy --help | grep -q -e --blkhash; then
    nbdkit -U - file "$dir/raw" \
           --run "$real_nbdcopy"' --blkhash "$uri" null:' > "$dir/stdout"
    grep -q "$(reference "$dir/raw")" "$dir/stdout" ||
      fail "nbdcopy --blkhash differs"
    echo "the same as nbdcopy --blkhash"
  fi
}

# no_result: there are no sums, no manifests, and no guest.  virt-v2v leaves the
# disk that it was copying.
no_result () {
  [ ! -s "$dir/sums" ] || fail "there are sums"
  rm -f "$dir/out/guest-sda"
  [ ! "$(ls "$dir/out")" ] || fail "left behind: $(ls "$dir/out")"
}

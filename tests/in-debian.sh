#!/bin/bash
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Run ./quickstart check, or another command, in a clone of this checkout's
# HEAD on a bare Debian of any suite, as root in a chroot:
#
#   tests/in-debian.sh sid
#   tests/in-debian.sh trixie ./quickstart
#   OUT=DIRECTORY tests/in-debian.sh sid make-something
#
# The directory OUT, which must exist, is mounted there as /out.
#
# Needs root, git and debootstrap.  Packages come from the mirror of this
# machine's apt, and their signatures are checked.  The chroot is created in
# $TMPDIR (or /var/tmp) and removed at the end; the base system is kept there
# for the next time, in blkhash-SUITE.tar.

set -euo pipefail

suite=${1:?usage: in-debian.sh SUITE [COMMAND]...}
shift
[ $# -gt 0 ] || set -- ./quickstart check
top=$(cd "$(dirname "$0")/.." && pwd)
tmp=${TMPDIR:-/var/tmp}
tar=$tmp/blkhash-$suite.tar
out=${OUT:+$(realpath -e "$OUT")}
root=$(mktemp -d "$tmp/blkhash-$suite.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
chmod 755 "$root"

# shellcheck disable=SC2016 # apt expands these
mirror=$(apt-get indextargets --format \
  '$(ORIGIN)/$(LABEL)/$(COMPONENT)/$(CREATED_BY) $(REPO_URI)' |
  awk '$1 == "Debian/Debian/main/Packages" && !n++ { print $2 }')

if [ ! -e "$tar" ]; then
  debootstrap --variant=minbase --include=git,ca-certificates \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "$suite" "$root" "$mirror"
  # debootstrap leaves /proc mounted if it is busy.
  ! mountpoint -q "$root/proc" || umount -l "$root/proc"
  tar -C "$root" --one-file-system -cf "$tar.new" .
  mv "$tar.new" "$tar"
else
  tar -C "$root" -xpf "$tar"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
# The settings by which this machine's apt reaches the mirror and checks dates.
apt-config dump | grep '^Acquire::' > "$root/etc/apt/apt.conf.d/99machine" ||
  true
# The system is temporary, so it needs no sync.
echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
git clone -q --no-local "$top" "$root/root/blkhash"

# Mounts and stray processes end with the namespaces.
unshare --mount --pid --fork --kill-child bash -c '
  set -e
  root=$1
  out=$2
  shift 2
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount --rbind /dev/pts "$root/dev/pts" || true
  for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind /dev/$device "$root/dev/$device"
  done
  if [ "$out" ]; then
    mkdir "$root/out"
    mount --bind "$out" "$root/out"
  fi
  command=$(printf "%q " "$@")
  # Not chroot: in one, no user namespace can be made.
  cd "$root"
  pivot_root . .
  umount -l .
  exec env -i HOME=/root CI=true LC_ALL=C.UTF-8 \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /root/blkhash && exec $command"
' bash "$root" "$out" "$@" < /dev/null

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair refuses a file on a file system whose direct I/O can use the
# page cache.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"

cd "$dir"
make_good good
make_manifest good
cp good bad
damage bad 3
tested=

# refuses_on NAME FILE [OPTION]...
refuses_on () {
  name=$1 file=$2
  shift 2
  refuses "$file: cannot be repaired: direct I/O on its file system, of type 0x[0-9a-f]*, can be answered from the page cache; repair it on the host that stores it on ext4, xfs or a block device$" \
    by_good --from good "$@" "$file"
  same "$file" bad
  tested="$tested $name"
}

if [ "$(stat -f -c %T /dev/shm 2> shm.log)" = tmpfs ]; then
  shm=$(mktemp /dev/shm/blkhash-test-XXXXXX)
  at_exit "rm $shm"
  cp bad "$shm"
  refuses_on tmpfs "$shm"
  refuses_on tmpfs "$shm" --dry-run
fi

if [ -e /dev/fuse ] && command -v nbdfuse fusermount3 nbdkit > which.log; then
  cp bad exported
  start_nbdkit file exported
  mkdir fuse
  nbdfuse -P "$dir/fuse.pid" fuse/disk "$uri" 2> fuse.log &
  fuse=$!
  kill_at_exit $fuse
  if wait_until test -s fuse.pid -o ! -d "/proc/$fuse" && [ -s fuse.pid ]; then
    refuses_on fuse fuse/disk
    fusermount3 -u fuse
    wait $fuse
  else
    cat fuse.log
  fi
fi

# The file of an overlay can be that of a lower file system.
if [ "$(id -u)" = 0 ]; then
  mkdir lower upper work merged
  cp bad lower/disk
  if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged \
    2> mount.log; then
    at_exit "umount $dir/merged"
    refuses_on overlayfs merged/disk
    [ ! -e upper/disk ] || same upper/disk bad
  else
    cat mount.log
  fi
fi
[ -n "$tested" ] || skip "no tmpfs, FUSE or overlay"
echo "tested:$tested"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Where the kernel or the file system does not know RWF_DONTCACHE, as all
# before Linux 6.14 and tmpfs after it, the sum is the same, and a file that was
# not in the page cache is not left there.

. "$(dirname "$0")/functions.sh"

# A file system without it, whatever the kernel.
if [ -d /dev/shm ] && [ -w /dev/shm ]; then
  shm=$(mktemp -d /dev/shm/blkhash-test-XXXXXX)
  at_exit 'rm -rf "$shm"'
  make_image "$shm/image"
  sum=$(reference "$shm/image")
  prints_sum "$sum" blksum "$shm/image"
  prints_sum "$sum" blksum --cache "$shm/image"
  from_shm () { blksum < "$shm/image"; }
  prints_sum "$sum" from_shm
fi

[ "$SANITIZE" = no ] || skip "a sanitizer must be the first library"
: "${CC:=cc}"
requires $CC --version
requires_program fincore

# Refuses the flag as such a kernel does: not for a read of nothing.  What it
# refused is counted in $REFUSED.
cat > "$dir/preload.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static int
refuse (const struct iovec *iov, int count, int flags)
{
  size_t len = 0;
  int i, fd;

  for (i = 0; i < count; i++)
    len += iov[i].iov_len;
  if (!(flags & 0x80) || len == 0)
    return 0;
  fd = open (getenv ("REFUSED"), O_WRONLY | O_APPEND);
  if (fd == -1 || write (fd, "x", 1) != 1)
    abort ();
  close (fd);
  errno = EOPNOTSUPP;
  return -1;
}

ssize_t
preadv2 (int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
  ssize_t (*real) (int, const struct iovec *, int, off_t, int) =
    dlsym (RTLD_NEXT, "preadv2");

  return refuse (iov, count, flags) ? -1
    : real (fd, iov, count, offset, flags);
}

ssize_t
preadv64v2 (int fd, const struct iovec *iov, int count, off64_t offset,
            int flags)
{
  ssize_t (*real) (int, const struct iovec *, int, off64_t, int) =
    dlsym (RTLD_NEXT, "preadv64v2");

  return refuse (iov, count, flags) ? -1
    : real (fd, iov, count, offset, flags);
}
END
requires $CC -shared -fPIC -o "$dir/preload.so" "$dir/preload.c" -ldl

REFUSED=$dir/refused
export REFUSED
without_flag () { LD_PRELOAD=$dir/preload.so "$@"; }

# Bytes of $dir/image in the page cache.
cached () {
  fincore --bytes --noheadings --output RES "$dir/image" | tr -d ' '
}
evict () {
  sync "$dir/image"
  dd if="$dir/image" iflag=nocache count=0 status=none
}

# sum_of_cold COMMAND
sum_of_cold () {
  : > "$REFUSED"
  evict
  prints_sum "$sum" without_flag "$@"
  [ "$(cached)" -lt $((size / 10)) ] ||
    fail "$(cached) of $size bytes were left in the page cache: $*"
  [ -s "$REFUSED" ] || skip "blksum does not use the flag here"
}

: > "$dir/image"
write_data "$dir/image" 0 33554432
sum=$(reference "$dir/image")
size=33554432
requires cached
evict
[ "$(cached)" -lt $((size / 10)) ] || skip "cannot empty the page cache"

from_stdin () { blksum "$@" < "$dir/image"; }
sum_of_cold blksum --no-extents "$dir/image"
truncate -s 40000001 "$dir/image"
sum=$(reference "$dir/image")
sum_of_cold blksum "$dir/image"
sum_of_cold blksum -t 1 "$dir/image"
sum_of_cold from_stdin

# What was there stays, and small files have their sums, too.
cat "$dir/image" > /dev/null
prints_sum "$sum" without_flag blksum "$dir/image"
[ "$(cached)" -gt $((size * 9 / 10)) ] ||
  fail "only $(cached) of $size bytes stayed in the page cache"
printf hello > "$dir/hello"
prints_sum "$(reference "$dir/hello")" without_flag blksum "$dir/hello"

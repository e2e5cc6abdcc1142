#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# On tmpfs blksum does not query the end of data if it can only be the end of
# the file, because the query takes longer than reading the beginning.

. "$(dirname "$0")/../functions.sh"
requires_program strace
[ -z "$wrapper" ] || skip "strace and valgrind do not go together"
requires_no_sanitizer "sanitizers and strace do not go together"
requires strace -f -qq -e trace=lseek -o "$dir/trace" true
[ "$(stat -f -c %T /dev/shm 2> "$dir/stderr")" = tmpfs ] ||
  skip "/dev/shm is not tmpfs"
shm=$(mktemp -d /dev/shm/blkhash-test-XXXXXX) ||
  skip "/dev/shm is not writable"
at_exit "rm -rf $shm"

# seeks COUNT FILE: prints the right sum, with COUNT calls that query holes.
seeks () {
  prints_sum "$(reference "$2")" strace -f -qq -e trace=lseek \
    -o "$dir/trace" blksum "$2"
  [ "$(grep -c SEEK_HOLE "$dir/trace")" = "$1" ] ||
    fail "not $1 calls: $(cat "$dir/trace")"
}

write_data "$shm/full" 0 5000001
seeks 0 "$shm/full"
cp "$shm/full" "$shm/sparse"
truncate -s 20000000 "$shm/sparse"
seeks 1 "$shm/sparse"
write_data "$shm/sparse" 10000000 100000
seeks 2 "$shm/sparse"

# Allocated blocks without data.
if fallocate -l 9000000 "$shm/allocated" 2> "$dir/stderr"; then
  seeks 0 "$shm/allocated"
  write_data "$shm/allocated" 3000000 100000
  seeks 0 "$shm/allocated"
fi

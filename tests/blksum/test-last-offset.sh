#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Data in the last page of a file of the maximum size is read.  Linux reports
# that page as a hole on tmpfs.

. "$(dirname "$0")/../functions.sh"
[ "$(stat -f -c %T /dev/shm 2> "$dir/stderr")" = tmpfs ] ||
  skip "/dev/shm is not tmpfs"
shm=$(mktemp -d /dev/shm/blkhash-test-XXXXXX) ||
  skip "/dev/shm is not writable"
at_exit "rm -rf $shm"

block=$((16 * 1024 * 1024))

# compares SIZE: two images of SIZE bytes differ in their last byte.
compares () {
  size=$1
  start=$(((size - 1) / block * block))
  rm -f "$shm/a" "$shm/b"
  truncate -s $size "$shm/a" 2> "$dir/stderr" || skip "no file of $size bytes"
  truncate -s $size "$shm/b"
  "$PYTHON" -c 'import os, sys
os.pwrite(os.open(sys.argv[1], os.O_WRONLY), b"x", int(sys.argv[2]) - 1)' \
    "$shm/b" $size
  run 1 blkhash compare -d sha256/$block "$shm/a" "$shm/b"
  [ "$(cat "$dir/stdout")" = "$((size - start)) bytes at $start differ" ] ||
    fail "the difference is not in the last block"
}

compares 9223372036854775807
compares 9223372036854771712

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If the limit of open files is too low, blksum prints the right sum or an error
# that contains the limit, whichever open failed.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "valgrind needs files of its own"
cd "$dir"

# within FILES COMMAND...: with this limit, and without a shell, which needs
# files too.
blksum=$(real_program "$BLKSUM")
within () {
  "$PYTHON" -c '
import os, resource, sys
files = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
os.execv(sys.argv[2], sys.argv[2:])' "$@"
}

# sum_or_limit SUM FILES ARGUMENT...: prints SUM, or the error.
sum_or_limit () {
  wanted=$1 files=$2
  shift 2
  status=0
  within $files "$blksum" "$@" > stdout 2> stderr || status=$?
  if [ $status = 0 ]; then
    [ "$(cut -d' ' -f1 stdout)" = "$wanted" ] || fail "expected $wanted: $*"
  else
    [ $status = 2 ] || fail "exit status $status with $files files: $*"
    [ ! -s stdout ] || fail "printed a sum"
    says_once "Too many open files (ulimit -n: $files)$"
  fi
}

make_image image
sum=$(reference image)
for files in 4 5 6 8; do
  sum_or_limit $sum $files --manifest manifest image
done
run 2 within 4 "$blksum" --manifest manifest image
requires_qemu
qemu-img convert -f raw -O qcow2 image qcow2
for files in 4 5 6 7 8 9 10 11 12 13 14 15 16 20 32; do
  sum_or_limit $sum $files qcow2
done
run 2 within 10 "$blksum" qcow2

# Images that are small are hashed several at once, if there are enough files for
# that.  A limit that is enough for each of them is enough for all.
truncate -s 64k raw
operands=
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  write_data raw $((n * 1000)) 3000
  qemu-img convert -f raw -O qcow2 raw small$n
  operands="$operands small$n"
  reference raw
done > wanted
for files in 20 24 32 48 64 128; do
  run 0 within $files "$blksum" --no-names $operands
  diff stdout wanted || fail "other sums with $files files"
done

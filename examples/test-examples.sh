#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Run the example programs on files of several sizes and compare their output
# with the reference.  Runs in the build directory, srcdir is the source.

set -e

reference=${srcdir:-.}/../tests/reference.py
manifest=${srcdir:-.}/../tests/refmanifest.py
"${PYTHON:-python3}" -c 'import hashlib' 2> /dev/null || {
  echo "SKIP: ${PYTHON:-python3} is missing"
  exit 77
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

failed=0

# equal EXPECTED COMMAND...: COMMAND, with $dir/image as input, prints EXPECTED.
equal () {
  expected=$1
  shift
  got=$("$@" < "$dir/image") || got="$got (exit $?)"
  if [ "$got" != "$expected" ]; then
    printf '%s\n  expected: %s\n  got:      %s\n' "$*" "$expected" "$got"
    failed=1
  fi
}

# fails COMMAND...: COMMAND exits with 1, prints a message, and prints no hash.
fails () {
  status=0
  "$@" > "$dir/out" 2> "$dir/err" || status=$?
  if [ $status != 1 ] || [ -s "$dir/out" ] || ! [ -s "$dir/err" ]; then
    echo "$*: must fail with a message, exit status $status"
    cat "$dir/out" "$dir/err"
    failed=1
  fi
}

# The manifest from a pipe is that of the reference, byte for byte.
check_manifest () {
  rm -f "$dir/image.blkm"
  equal "$1" sh -c "cat | ./blkhash-manifest '$dir/image.blkm'"
  "${PYTHON:-python3}" "$manifest" write "$dir/image" > "$dir/expected.blkm"
  cmp "$dir/expected.blkm" "$dir/image.blkm" || failed=1
}

check_image () {
  echo "$1"
  expected=$("${PYTHON:-python3}" "$reference" "$dir/image")
  expected=${expected%% *}
  equal "$expected" ./blkhash-sync "$dir/image"
  equal "$expected" ./blkhash-sync
  equal "$expected" ./blkhash-aio
  equal "$expected" ./blkhash-leaves "$dir/image"
  equal "$expected" sh -c 'cat | ./blkhash-sync'
  equal "$expected" sh -c 'cat | ./blkhash-aio'
  check_manifest "$expected"
}

# The published sum, which does not depend on the reference.
printf hello > "$dir/image"
equal 337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6 \
      ./blkhash-sync

# Bytes that differ from block to block.
for size in 0 5 65535 65536 65537 3000000; do
  seq 600000 | head -c $size > "$dir/image"
  check_image "size $size"
done

: > "$dir/image"
truncate -s 1048577 "$dir/image"
check_image "1 MiB + 1, a hole"
printf data | dd of="$dir/image" bs=1 seek=500000 conv=notrunc status=none
check_image "1 MiB + 1, a hole with data in it"

# Two manifests of 16 blocks: byte 70000 and the last one differ.
seq 600000 | head -c 1048500 > "$dir/image"
"${PYTHON:-python3}" "$manifest" write "$dir/image" > "$dir/a.blkm"
for at in 70000 1048499; do
  printf x | dd of="$dir/image" bs=1 seek=$at conv=notrunc status=none
done
"${PYTHON:-python3}" "$manifest" write "$dir/image" > "$dir/b.blkm"
equal '65536 65536
983040 65460' ./blkhash-diff "$dir/a.blkm" "$dir/b.blkm"
equal '' ./blkhash-diff "$dir/a.blkm" "$dir/a.blkm"

fails ./blkhash-diff "$dir/a.blkm"
fails ./blkhash-diff "$dir/a.blkm" "$dir/missing"
fails ./blkhash-diff "$dir/image" "$dir/a.blkm"
head -c 700 "$dir/a.blkm" > "$dir/cut.blkm"
fails ./blkhash-diff "$dir/a.blkm" "$dir/cut.blkm"
fails ./blkhash-sync "$dir/missing"
fails ./blkhash-sync "$dir"
fails ./blkhash-leaves "$dir/missing"
fails ./blkhash-leaves "$dir"
fails ./blkhash-leaves
fails ./blkhash-manifest "$dir/image.blkm"
fails ./blkhash-manifest
fails sh -c './blkhash-aio < .'

exit $failed

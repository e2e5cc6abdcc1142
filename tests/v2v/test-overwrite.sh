#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If the path of a result is by mistake that of another existing file,
# blkhash-v2v does not empty, replace or remove it.

. "$(dirname "$0")/functions.sh"

cd "$dir"
printf 'a line\n' > text
printf '%s\nblk-sha256/64k (a) = 00\nand more\n' "$sums_header" > almost
printf 'blk-sha256/64k (a) = 00\n%s\n' "$sums_header" > later
printf '\0%s\n' "$sums_header" > begun
blksum src > list
# A list that the user keeps.
blksum --tag src > tagged
mkdir directory

# kept FILE CODE...: blkhash-v2v fails, and FILE is unchanged.
kept () {
  kept=$1
  shift
  cp -a "$kept" before
  empty dst
  run 2 blkhash-v2v "$@" fake-v2v "$dir/src" "$dir/dst"
  diff -r before "$kept" || fail "$kept was changed"
  rm -rf before
}

for file in src text almost later begun list tagged directory; do
  kept $file --sums $file
  [ ! -e nbdcopy-arguments ] || fail "a disk was copied before that"
done
complains 'directory: is no regular file'

# A disk that this run has copied.
rm dst
BEFORE_SERVERS="truncate -s $(stat -c %s src) '$dir/dst'"
export BEFORE_SERVERS
run 2 blkhash-v2v --sums dst fake-v2v "$dir/src" "$dir/dst"
complains 'dst exists and was not written by blkhash-v2v'
cmp src dst || fail "the copy was changed"
unset BEFORE_SERVERS

for name in dst.blkm dst.blkm.unverified; do
  for file in src text directory; do
    rm -rf manifests
    mkdir manifests
    cp -a $file manifests/$name
    STATUS=0
    export STATUS
    kept manifests/$name --manifest-dir manifests
    unset STATUS
    [ "$(ls manifests)" = $name ] || fail "more in manifests: $(ls manifests)"
  done
done

# Results of an earlier run are replaced.
rm -rf manifests
mkdir manifests
for i in 1 2; do
  empty dst
  run 0 blkhash-v2v --sums sums --manifest-dir manifests \
      fake-v2v "$dir/src" "$dir/dst"
  echo "blk-sha256/64k ($dir/dst) = $(reference src)" | sums_are sums ||
    fail "the sums differ"
  blksum --manifest - src | cmp - manifests/dst.blkm ||
    fail "the manifest differs"
done

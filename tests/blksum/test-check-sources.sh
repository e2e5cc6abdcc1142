#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --check hashes all kinds of sources, and accepts checksums of all hash
# specs.

. "$(dirname "$0")/../functions.sh"

cd "$dir"
make_image raw
cp raw other
write_data other 4000000 1

# checks NAME ARGUMENT...: the image NAME passes; NAME.other, if it exists,
# fails.
checks () {
  checked=$1
  shift
  run 0 blksum --check "$@" list
  [ ! -s stderr ] || fail "unexpected message"
  [ "$(cat stdout)" = "$checked: OK" ] || fail "not OK: $*"
  [ -e "$checked.other" ] || return 0
  mv "$checked" "$checked.right"
  mv "$checked.other" "$checked"
  run 1 blksum --check "$@" list
  [ "$(cat stdout)" = "$checked: FAILED" ] || fail "not FAILED: $*"
  if grep -q '^blk-' list; then
    says_once "WARNING: 1 computed checksum did NOT match"
  else
    says "WARNING: 1 computed checksum did NOT match" \
      "list: none matches, and none has a tag; made with another -d, or by sha"
  fi
  mv "$checked" "$checked.other"
  mv "$checked.right" "$checked"
}

# The line, or else the options, contain the hash spec.
mv other raw.other
for kind in sha256/64k sha256/4k/s64 sha512/4m md5/512 sha1/16m/s3 \
            blake2b512/1m/s1024; do
  sum=$(reference $(of_spec $kind) raw)
  echo "blk-$kind (raw) = $sum" > list
  checks raw
  # If the line has a tag, the options are ignored.
  checks raw -d sha1/64k/s5
  echo "$sum  raw" > list
  checks raw -d $kind
  # Without both it is assumed to be of blksum's default.
  case $kind in
    sha256/64k) run 0 blksum --check list ;;
    sha256/*) run 1 blksum --check list ;;
    *) run 2 blksum --check list
       says "digits, but sha256 sums have 64" "list: no proper" ;;
  esac
done
# The options supply what the tag does not contain.
echo "blk-md5 (raw) = $(reference -d md5 -b 4k -s 2 raw)" > list
checks raw -d sha256/4k/s2
# All digests of this build, with a small image because the reference is slow.
head -c 20000 raw > small
: > list
for digest in $(blksum -l); do
  sum=$(reference -d $digest -b 4k small 2> /dev/null) || continue
  [ -n "$sum" ] || continue
  echo "blk-$digest/4k (small) = $sum" >> list
done
run 0 blksum --check --quiet list
[ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
# With any number of threads, and with progress for each image.
run 0 blksum --check -t 3 --progress=2 list
[ "$(grep -c '^100/100$' stderr)" = "$(grep -c OK stdout)" ] ||
  fail "not one 100/100 for each image"

# A pipe on standard input, and a FIFO.
sum=$(reference raw)
echo "$sum  -" > list
run 0 sh -c 'cat raw | blksum --check list'
run 1 sh -c 'cat raw.other | blksum --check list'
mkfifo fifo
echo "$sum  fifo" > list
cat raw > fifo &
kill_at_exit $!
run 0 blksum --check list

# An error while reading is not a different sum.
start_evil_server raw error
echo "$sum  $uri" > list
run 2 blksum --check --allow-uris list
[ "$(cat stdout)" = "$uri: FAILED open or read" ] || fail "$(cat stdout)"
stop_evil_server

requires_qemu
qemu-img convert -f raw -O qcow2 raw a.qcow2
qemu-img convert -f raw -O qcow2 raw.other a.qcow2.other
qemu-img convert -f raw -O vmdk raw vmdk
blksum --tag a.qcow2 > list
checks a.qcow2
checks a.qcow2 -f qcow2
BLKSUM_DIRECT=0 checks a.qcow2
run 1 blksum --check -f raw list
echo "$sum  vmdk" > list
checks vmdk
# An image that names another file needs -f, as always.
qemu-img create -q -f qcow2 -F raw -b raw overlay
echo "$sum  overlay" > list
run 2 blksum --check list
says "overlay: .*raw" "1 listed file"
checks overlay -f qcow2
# A hint says why an image may not match: its format was detected, and is not what
# the name says, as of a raw disk to which a guest wrote a header.
cp a.qcow2 copy
for also in "" "--also sha256"; do
  blksum --tag $also -f raw copy > list
  run 0 blksum --check -f raw list
  run 1 blksum --check list
  says "copy: was read as qcow2, by its first bytes; -f raw reads it as a raw" \
       "computed checksums* did NOT match"
  run 1 blksum --check --status list
  [ ! -s stderr ] || fail "a hint with --status"
done
run 1 blksum --expect "$(head -n 1 list)" copy
says "copy: expected " "copy: got " "copy: was read as qcow2"
blksum -f raw --manifest copy.blkm copy > stdout
run 1 blksum --expect manifest:copy.blkm copy
says "copy: has 8388608 bytes, manifest:copy.blkm" "copy: was read as qcow2"
run 1 blksum -f qcow2 --expect "$(head -n 1 list)" copy
says "copy: expected " "copy: got "

requires_nbdkit file
# Or a disk can be larger than the image that was copied to it.
volume="all of it was hashed; if the image is smaller, --size hashes only the image"
cp raw larger
truncate -s 9m larger
start_nbdkit file larger
blksum --tag raw | sed "s|(raw)|($uri)|" > list
run 1 blksum --check --allow-uris list
says "$uri: $volume" "WARNING: 1 computed checksum did NOT match"
run 1 blksum --expect "$(cat list)" "$uri"
says "$uri: expected " "$uri: got " "$uri: $volume"
run 0 blksum --check --allow-uris --size 8m list
run 1 blksum --check --allow-uris --size 7m list
says "WARNING: 1 computed checksum did NOT match"
start_nbdkit file raw
echo "$sum  $uri" > list
run 2 blksum --check list
says "$uri: .*--allow-uris" "1 listed file"
run 0 blksum --check --allow-uris list
[ "$(cat stdout)" = "$uri: OK" ] || fail "NBD"
start_nbdkit file raw.other
echo "$sum  $uri" > list
run 1 blksum --check --allow-uris list
blksum --manifest raw.blkm raw > stdout
run 1 blksum --expect manifest:raw.blkm "$uri" # which has its size
says "$uri: expected " "$uri: got "

requires_root
requires_program losetup
attach raw
echo "$sum  $device" > list
run 0 blksum --check list
[ "$(cat stdout)" = "$device: OK" ] || fail "a block device"
attach larger
echo "blk-sha256/64k ($device) = $sum" > list
run 1 blksum --check list
says "$device: $volume" "WARNING: 1 computed checksum did NOT match"
run 0 blksum --check --size 8m list

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The manifest of a copy out of nbdkit or into it is byte for byte that of
# blksum --manifest.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"

# is_made IMAGE [SPEC "REFERENCE OPTIONS"]: after the server has ended.
is_made () {
  has_line "$(sum_line "$(reference ${3-} "$1")" - ${2-})" ||
    fail "no sum: $(cat "$sums")"
  manifest_is "$1" ${3-}
  prints_sum "$(reference ${3-} "$1")" \
             blksum ${2:+-d $2} --manifest "$dir/other" "$1"
  cmp "$manifest" "$dir/other" ||
    fail "the manifest differs from that of blksum"
  prints_sum "$(reference ${3-} "$1")" blksum "manifest:$manifest"
  run 0 blkhash compare "manifest:$manifest" "$1"
}

# copied_out SPEC "REFERENCE OPTIONS"
copied_out () {
  rm -f "$sums"
  serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest" \
        blkhash-digest=$1
  copy "$uri" null:
  wait_for_line "$(sum_line "$(reference $2 "$dir/image")" - $1)"
  manifest_is "$dir/image" $2
  stop
  is_made "$dir/image" "$@"
}
copied_out sha256/64k ""
for digest in md5 sha512 blake2b512; do
  copied_out $digest/64k "-d $digest"
done
copied_out sha512/4k "-d sha512 -b 4k"
copied_out sha256/512 "-b 512"
copied_out sha256/4m "-b 4m"
copied_out sha256/64k/s64 "-s 64"
copied_out sha256/64k/linear "--linear"

# A client reads a part, and the filter the rest; with trims and zeros.
cp "$dir/image" "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
client "" 'h.pread(h.get_size() // 2 + 5 * 65536, 0)'
wait_for_sum "$dir/disk"
manifest_is "$dir/disk"
for change in 'h.trim(200000, 65536)' 'h.zero(65536 * 3, 1048576)' \
              'h.pwrite(bytes(65536), 0)' 'h.pwrite(b"x" * 70000, 3000000)'; do
  client "" "$change"
  wait_for_sum "$dir/disk"
  manifest_is "$dir/disk"
done
stop
is_made "$dir/disk"

# Any size: with a shorter last block, or with no block.
for size in 0 1 511 65535 65536 65537 1048577; do
  every 1 3 || continue
  head -c $size "$dir/image" > "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
  copy "$uri" null:
  wait_for_sum "$dir/disk"
  stop
  is_made "$dir/disk"
  truncate -s 0 "$dir/disk"
  truncate -s $size "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
  copy "$uri" null:
  wait_for_sum "$dir/disk"
  stop
  is_made "$dir/disk"
done

# One byte was changed in 6 GiB: the manifests find its block.
truncate -s 6g "$dir/sparse"
for at in 0 1000000000 3000000001 6442400000; do
  write_data "$dir/sparse" $at 40000
done
serve file "$dir/sparse" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/sparse"
manifest_is "$dir/sparse"
cp "$manifest" "$dir/before"
client "" 'h.pwrite(b"x", 4000000000)'
wait_for_sum "$dir/sparse"
manifest_is "$dir/sparse"
stop
run 1 blkhash compare "manifest:$dir/before" "manifest:$manifest"
grep -q 3999989760 "$dir/stdout" ||
  fail "the block at 3999989760 is not reported"
run 1 blkhash compare "manifest:$dir/before" "$dir/sparse"
grep -q 3999989760 "$dir/stdout" ||
  fail "the block at 3999989760 is not reported"
rm "$dir/sparse"

# No other file is left behind.
[ "$(ls "$manifest"*)" = "$manifest" ] || fail "left behind: $(ls "$manifest"*)"

# ---- Copied by qemu-img, from and to qcow2 ----

requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
truncate -s 8m "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$dir/image" "$uri"
wait_for_sum "$dir/disk"
manifest_is "$dir/image"
run 0 qemu-img convert -n -f qcow2 -O raw "$dir/qcow2" "$uri"
wait_for_sum "$dir/disk"
manifest_is "$dir/image"
stop
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
run 0 qemu-img convert -f raw -O qcow2 "$uri" "$dir/copy"
wait_for_sum "$dir/image"
stop
prints_sum "$(reference "$dir/image")" \
           blksum --manifest "$dir/other" "$dir/copy"
cmp "$manifest" "$dir/other" ||
  fail "the manifest differs from that of the qcow2"

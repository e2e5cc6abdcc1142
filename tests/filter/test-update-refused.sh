#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-update=true: a manifest that cannot be updated is refused, and left
# as it is.  After SIGKILL there is none, and the whole disk is read.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/disk"
blksum --manifest "$manifest" "$dir/disk"
cp "$manifest" "$dir/good"
echo 'a sum' > "$dir/other"

# refused MESSAGE PARAMETER...: nbdkit does not start, and changes no file.
refused () {
  does_not_start "$@"
  cmp "$sums" "$dir/sums-before"
}
# refused_manifest MESSAGE PARAMETER...: the same because of the manifest, which is
# opened when the earlier result has been emptied.
refused_manifest () {
  does_not_start "$@"
  [ ! -s "$sums" ] || fail "an earlier result was left"
}
does_not_start () {
  message=$1
  shift
  cp "$manifest" "$dir/before"
  printf "%s\n# unknown -: before\n" "$result_header" > "$sums"
  cp "$sums" "$dir/sums-before"
  run 1 nbdkit -U "$dir/refused.sock" --filter="$filter" file "$dir/disk" \
               blkhash-file="$sums" "$@" --run true
  has_error "$message"
  cmp "$manifest" "$dir/before"
}
has_error () {
  grep -q -e "$1" "$dir/stderr" || fail "no message: $1"
}

m=blkhash-manifest="$manifest"
refused 'needs blkhash-manifest' blkhash-update=true
refused 'blkhash-missing=fail' "$m" blkhash-update=true blkhash-missing=fail
refused 'distinct-exports' "$m" blkhash-update=true \
        blkhash-distinct-exports=true
refused 'blkhash-update=true' "$m" blkhash-audit=1%
refused 'the digest null' "$m" blkhash-update=true blkhash-digest=null
for share in 1 -1% 101% 1.1234567% x% % ''; do
  refused 'up to six decimals' "$m" blkhash-update=true \
          blkhash-audit="$share"
done
for other in blkhash-digest=sha512 blkhash-block-size=4k \
             blkhash-digest=sha256/64k/s64 blkhash-digest=sha256/64k/linear; do
  refused_manifest 'another digest, block size or construction' "$m" \
          blkhash-update=true $other
done

# A leaf, the sum, the size, the end.
length=$(stat -c %s "$dir/good")
for offset in 600 $((length - 20)) 20; do
  cp "$dir/good" "$manifest"
  "$PYTHON" -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte[0] ^ 1]))' "$manifest" $offset
  refused 'is not a manifest' "$m" blkhash-update=true
done
head -c $((length - 1)) "$dir/good" > "$manifest"
refused 'is not a manifest' "$m" blkhash-update=true
mkdir "$dir/parts"
blkhash parts --part 0/2 "$dir/disk" "$dir/parts"
cp "$dir/parts"/part-* "$manifest"
refused_manifest 'part' "$m" blkhash-update=true
cp "$dir/other" "$manifest"
refused 'is not a manifest' "$m" blkhash-update=true

# A disk of another size: its clients are refused, and the manifest is left.
cp "$dir/good" "$manifest"
rm -f "$sums"
truncate -s +65536 "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums" "$m" blkhash-update=true
run 1 nbdinfo "$uri"
grep -q "is the manifest of a disk of" "$log" || fail "no message"
stop
cmp "$manifest" "$dir/good"
truncate -s -65536 "$dir/disk"

# A user that can neither empty the manifest nor, because of the sticky bit,
# replace it.
if [ "$(id -u)" = 0 ]; then
  mkdir -m 1777 "$dir/sticky"
  cp "$dir/good" "$dir/sticky/m"
  chmod 711 "$dir"
  chmod 666 "$dir/disk"
  run 1 timeout "$limit" nbdkit -U "$dir/refused.sock" -f --user=nobody \
               --filter="$filter" file "$dir/disk" \
               blkhash-manifest="$dir/sticky/m" \
               blkhash-update=true
  has_error 'cannot write'
  cmp "$dir/sticky/m" "$dir/good"
fi

# Killed after a change: the manifest is empty, and stays so until the disk was
# read.
serve file "$dir/disk" blkhash-file="$sums" "$m" blkhash-update=true
cmp "$manifest" "$dir/good"
client "" "h.pwrite(b'x', 100)
assert content('$manifest') == b''
import os, signal
os.kill($server, signal.SIGKILL)
time.sleep(0)
os._exit(0)"
wait $server || :
[ ! -s "$manifest" ] || fail "there is a manifest"
serve file "$dir/disk" blkhash-file="$sums" "$m" blkhash-update=true
client "" 'h.pwrite(b"y", 70000)'
wait_for_sum "$dir/disk"
stop
manifest_is "$dir/disk"

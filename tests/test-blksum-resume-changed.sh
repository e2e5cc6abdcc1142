#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume starts over, with a reason, if the image was changed since the
# interrupted run.  The audit detects a changed block that is not detected
# otherwise.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"

image=$dir/image
make_large_image "$image"
blksum --manifest "$dir/expected" "$image" > "$dir/sum"
sum=$(cut -d' ' -f1 "$dir/sum")
changed="m is older than the last change of the image"
other="m was started with another image"
stateless="m has no matching state file"

# changes COMMAND...: changes $image; the next run hashes it as it is then.
changes () {
  echo "+ $*"
  "$@"
  blksum --manifest "$dir/expected" "$image" > "$dir/sum"
  sum=$(cut -d' ' -f1 "$dir/sum")
}
one_byte () {
  printf x | dd of="$image" bs=1 seek="$1" conv=notrunc status=none
}
with_old_times () {
  touch -r "$image" "$dir/times"
  one_byte 5000
  touch -r "$dir/times" "$image"
}
replace () {
  cp "$image" "$dir/image.new"
  one_byte 6000
  touch -r "$image" "$dir/image.new"
  mv "$dir/image.new" "$image"
}

# The file was touched, changed, changed and its times restored, extended, or
# replaced.
interrupt KILL "$image"
touch "$image"
starts_over "$changed" "$sum" "$image"
interrupt KILL "$image"
changes one_byte 4000
starts_over "$changed" "$sum" "$image"
interrupt KILL "$image"
changes with_old_times
starts_over "$changed" "$sum" "$image"
interrupt KILL "$image"
changes truncate -s 301m "$image"
starts_over "$changed" "$sum" "$image"
interrupt KILL "$image"
changes replace
starts_over "$other" "$sum" "$image"
interrupt KILL "$image"
cp "$image" "$dir/copy"
starts_over "$other" "$sum" "$dir/copy"

# It changes while it is read: the blocks that were read before are unknown.
status=0
midway_on_disk "touch $image" --resume --manifest "$dir/m" "$image" \
  > "$dir/stdout" 2> "$dir/stderr" || status=$?
[ $status = 2 ] || fail "status $status"
says_once "changed while it was read"
[ ! -s "$dir/stdout" ] || fail "printed a sum"
starts_over "$changed" "$sum" "$image"

# The state is missing, or is that of another manifest.
interrupt KILL "$image"
save_files
rm "$dir/m.state"
starts_over "$stateless" "$sum" "$image"
interrupt KILL "$image"
cp "$dir/kept" "$dir/m"
starts_over "$stateless" "$sum" "$image"
restore_files
sed -i 's/^journal: ./journal: -/' "$dir/m.state"
starts_over "$stateless" "$sum" "$image"
# A state without a manifest is ignored.
cp "$dir/kept.state" "$dir/m.state"
prints_sum "$sum" blksum --resume --manifest "$dir/m" "$image"
is_complete

# The modification time is in the future: a manifest is written, but a partial
# one is not trusted.
touch -d "2 days" "$image"
interrupt KILL "$image"
says_once "its times are in the future: if this run is interrupted, the next one \
starts over"
touch -d "2 days" "$image"
run 0 blksum --resume --manifest "$dir/m" "$image"
says "m is older than the last change of the image: starting over" "the future"
[ "$(cut -d' ' -f1 < "$dir/stdout")" = "$sum" ] || fail "not $sum"
is_complete
interrupt KILL "$image"
run 0 blksum --resume --manifest "$dir/m" "$image"
says "m was started when the image had just changed, or its times were in \
the future: starting over" "the future"
[ "$(cut -d' ' -f1 < "$dir/stdout")" = "$sum" ] || fail "not $sum"
is_complete
touch "$image"

# A leaf does not match the image, and nothing shows it.
interrupt KILL "$image"
save_files
"$PYTHON" - "$abs_top_srcdir/tests" "$dir/kept" << 'END'
import struct, sys
sys.path.insert(0, sys.argv[1])
import refmanifest

data = bytearray(open(sys.argv[2], "rb").read())
first, count = struct.unpack_from("<QQ", data, 512)
assert first == 0 and 0 < count < 2**63
data[512 + 16 + 32 * 3] ^= 1
end = 512 + 16 + 32 * count
struct.pack_into("<I", data, end, refmanifest.crc32c(bytes(data[512:end])))
open(sys.argv[2], "wb").write(data)
END
restore_files
run 1 blksum --resume --audit 100% --manifest "$dir/m" "$image"
says_once "image: block 3 (65536 bytes at 196608) differs from $dir/m"
[ ! -s "$dir/stdout" ] || fail "printed a sum"
[ ! -e "$dir/m" ] && [ ! -e "$dir/m.state" ] ||
  fail "the files were not removed"
prints_sum "$sum" blksum --resume --manifest "$dir/m" "$image"
is_complete

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients choose the export names in the result file, and blksum --check must
# find them.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"
wanted=$(reference "$dir/image")

serve file "$dir/image" blkhash-file="$sums" blkhash-name=disk.img
for name in "" plain "two words" "# unknown x: y" '\\' 'a\\nb' 'a\nb' \
            'cr\r' "é"; do
  client "$(printf "$name")" 'h.pread(h.get_size(), 0)'
done
cat > "$dir/wanted" << END
blk-sha256/64k (disk.img) = $wanted
blk-sha256/64k (plain) = $wanted
blk-sha256/64k (two words) = $wanted
blk-sha256/64k (# unknown x: y) = $wanted
\\blk-sha256/64k (\\\\) = $wanted
\\blk-sha256/64k (a\\\\nb) = $wanted
\\blk-sha256/64k (a\\nb) = $wanted
\\blk-sha256/64k (cr\\r) = $wanted
blk-sha256/64k (é) = $wanted
END
stop
without_header "$sums" | diff "$dir/wanted" - || fail "the result file differs"

# Names are escaped in lines without a sum, too.
serve file "$dir/image" blkhash-file="$sums"
client "$(printf 'a\nb\\')" 'h.pread(1, 0)'
stop
[ "$(without_header "$sums" | wc -l)" = 1 ] || fail "$(cat "$sums")"
result_matches '^# unknown a\\nb\\\\: ' || fail "$(cat "$sums")"

# blksum prints the same line.
rm "$sums"
for tag in true false; do
  serve file "$dir/image" blkhash-file="$sums" blkhash-name="$dir/image" \
        blkhash-tag=$tag
  copy "$uri" null:
  stop
  option=--tag
  [ $tag = true ] || option=
  run 0 blksum $option "$dir/image"
  without_header "$sums" | diff "$dir/stdout" - ||
    fail "the line differs from that of blksum"
done

# The lines have at most 1 MiB.  Beyond that no sum is in the file.
rm "$sums"
serve memory 64k blkhash-file="$sums"
client "" 'for i in range(270):
    other = connect("%04d" % i + "n" * 4000)
    other.pread(65536, 0)
    other.shutdown()'
wait_until all_disconnected
stop
too_long='# unknown *: the lines of all exports exceed 1 MiB'
[ "$(without_header "$sums")" = "$too_long" ] || fail "$(head -c 1000 "$sums")"
run 2 blksum --check "$sums"
grep -qx '\*: FAILED unknown' "$dir/stdout" || fail "$(cat "$dir/stdout")"
grep -q 'exceed 1 MiB' "$dir/stderr" || fail "$(cat "$dir/stderr")"
serve file "$dir/image" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/image"
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients choose the export names in the result file, and blksum --check must
# find them.

. "$(dirname "$0")/filter-functions.sh"

make_image "$dir/image"
wanted=$(reference "$dir/image")

serve file "$dir/image" blkhash-file="$sums" blkhash-name=disk.img
for name in "" plain "two words" "# incomplete x: y" '\\' 'a\\nb' 'a\nb' \
            'cr\r' "é"; do
  client "$(printf "$name")" 'h.pread(h.get_size(), 0)'
done
cat > "$dir/wanted" << END
$wanted  disk.img
$wanted  plain
$wanted  two words
$wanted  # incomplete x: y
\\$wanted  \\\\
\\$wanted  a\\\\nb
\\$wanted  a\\nb
\\$wanted  cr\\r
$wanted  é
END
stop
without_header "$sums" | diff "$dir/wanted" - || fail "the result file differs"

# Names are escaped in lines without a sum, too.
serve file "$dir/image" blkhash-file="$sums"
client "$(printf 'a\nb\\')" 'h.pread(1, 0)'
stop
[ "$(wc -l < "$sums")" = 1 ] || fail "$(cat "$sums")"
result_matches '^# incomplete a\\nb\\\\: ' || fail "$(cat "$sums")"

# blksum prints the same line.
rm "$sums"
serve file "$dir/image" blkhash-file="$sums" blkhash-name="$dir/image"
copy "$uri" null:
stop
run 0 blksum "$dir/image"
diff "$dir/stdout" "$sums" || fail "the line differs from that of blksum"

# The lines have at most 1 MiB.  Beyond that no sum is in the file.
rm "$sums"
serve memory 64k blkhash-file="$sums"
client "" 'for i in range(270):
    other = connect("%04d" % i + "n" * 4000)
    other.pread(65536, 0)
    other.shutdown()'
wait_until all_disconnected
stop
too_long='# incomplete *: the lines of all exports exceed 1 MiB'
[ "$(cat "$sums")" = "$too_long" ] || fail "$(head -c 1000 "$sums")"
run 2 blksum --check "$sums"
grep -qx '\*: FAILED unknown' "$dir/stdout" || fail "$(cat "$dir/stdout")"
grep -q 'exceed 1 MiB' "$dir/stderr" || fail "$(cat "$dir/stderr")"
serve file "$dir/image" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/image"
stop

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients choose names.  An export that a client only probed has no line; but a
# disk that was read must have one, so that a missing line is not taken for
# success.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"
wanted=$(reference "$dir/image")
whole='h.pread(h.get_size(), 0)'
half='h.pread(h.get_size() // 2 + 70000, 0)'

# only_line LINE: the result file has no other line.
only_line () {
  [ "$(without_header "$sums")" = "$1" ] || fail "not '$1' only:
$(cat "$sums")"
}

serve file "$dir/image" blkhash-file="$sums" blkhash-missing=fail
client "" "$whole"
wait_for_line "$(sum_line "$wanted")"
client looked 'h.pread(100000, 0)'
client opened 'h.get_size()'
client extents 'h.block_status(h.get_size(), 0, lambda *args: 0)'
wait_until all_disconnected
only_line "$(sum_line "$wanted")"
client half "$half"
wait_for_match '^# unknown half: [0-9]* bytes are missing'
has_line "$(sum_line "$wanted")" || fail "$(cat "$sums")"
! result_matches 'looked\|opened\|extents' || fail "$(cat "$sums")"
stop
# A copy that broke off has its line.
result_matches '^# unknown looked: [0-9]* bytes are missing' || fail "$(cat "$sums")"
! result_matches 'opened\|extents' || fail "$(cat "$sums")"
[ "$(without_header "$sums" | wc -l)" = 3 ] || fail "$(cat "$sums")"

# An empty result file fails the check; when the server ends, the file gets a
# line.
rm "$sums"
serve file "$dir/image" blkhash-file="$sums" blkhash-missing=fail
client "" 'h.get_size()'
wait_until all_disconnected
[ ! -s "$sums" ] || fail "$(cat "$sums")"
run 2 blksum --check "$sums"
stop
result_matches '^# unknown -: [0-9]* bytes are missing' || fail "$(cat "$sums")"
run 2 blksum --check "$sums"

# The same if there is no sum for another reason: too many blocks.
rm "$sums"
serve null 1P blkhash-file="$sums"
client looked 'h.get_size()'
wait_until all_disconnected
[ ! -s "$sums" ] || fail "$(cat "$sums")"
client read 'h.pread(1, 0)'
wait_for_line '# unknown read: it has more than 2^31 blocks'
stop
! result_matches looked || fail "$(cat "$sums")"

# A failed request is the reason in the line.
[ "$SANITIZE" = no ] || exit 0
rm "$sums"
serve --filter=error file "$dir/image" blkhash-file="$sums" \
      error-pread-rate=100% error-file="$dir/fail"
client "" "$whole"
wait_for_line "$(sum_line "$wanted")"
: > "$dir/fail"
client failed 'try: h.pread(1, 0)
except nbd.Error: pass'
wait_for_match '^# unknown failed: the last request failed'
stop

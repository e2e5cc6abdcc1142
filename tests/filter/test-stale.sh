#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The disk was changed from outside: there is no stale sum.  Changes by clients:
# test-manifest-stale.sh.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/disk"

# A client reads other data than the sum was made of, because the disk was
# changed from outside: the sum is withdrawn.
cp "$dir/disk" "$dir/before"
serve file "$dir/disk" blkhash-file="$sums"
copy "$uri" null:
wait_for_sum "$dir/disk"
write_data "$dir/disk" 3000000 100000
copy "$uri" "$dir/copy"
cmp "$dir/copy" "$dir/disk" || fail "the copy differs"
wait_until all_disconnected
! has_line "$(sum_line "$(reference "$dir/before")")" || fail "a stale sum"
stop

# It is withdrawn for all names of the disk.  The other name gets its sum again
# only after the filter has read that range again.
cp "$dir/before" "$dir/disk"
serve file "$dir/disk" blkhash-file="$sums"
client a 'h.pread(h.get_size(), 0)'
client b 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" a
wait_for_sum "$dir/disk" b
write_data "$dir/disk" 3000000 100000
client a 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" a
wait_for_line '# unknown b: a client of another export reads different data'
client b 'h.pread(1, 0)'
wait_until all_disconnected
! has_line "$(sum_line "$(reference "$dir/before")" b)" || fail "a stale sum of b"
client b 'h.pread(h.get_size(), 0)'
wait_for_sum "$dir/disk" b
stop
wait_for_sum "$dir/disk" b

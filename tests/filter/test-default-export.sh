#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A plugin has another name for the default export: the line of a client that
# requests the default export still has the name of blkhash-name.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/disk"
wanted=$(reference "$dir/disk")

serve_snapshot default-export=disk0 blkhash-name=disk.img
clients 'h = connect("")
h.pread(8 << 20, 0)
h.shutdown()'
wait_for_line "$(sum_line "$wanted" disk.img)"
# Other names are used as they are.
clients 'h = connect("disk1")
h.pread(8 << 20, 0)
h.shutdown()'
wait_for_line "$(sum_line "$wanted" disk1)"
stop
has_line "$(sum_line "$wanted" disk.img)" || fail "$(cat "$sums")"

# The line that says why there is no sum has the name, too.
serve_snapshot default-export=disk0 blkhash-name=disk.img
clients 'h = connect("")
h.pread(1, 0)
h.shutdown()'
stop
result_matches '^# unknown disk.img: ' || fail "$(cat "$sums")"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The server gets SIGTERM, with clients connected or just disconnected: there is
# a manifest that includes all earlier writes.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"

# With --run, nbdkit ends after the manifest is written.
truncate -s 64m "$dir/disk"
write_data "$dir/disk" 0 20000000
run 0 nbdkit -U - --filter="$filter" file "$dir/disk" \
    blkhash-file="$sums" blkhash-manifest="$manifest" \
    --run 'nbdcopy "'"$dir/image"'" $uri'
wait_for_sum "$dir/disk"
manifest_is "$dir/disk"
run 0 nbdkit -U - --filter="$filter" file "$dir/disk" \
    blkhash-file="$sums" blkhash-manifest="$manifest" \
    --run '"'"$PYTHON"'" -c "
import nbd, os
h = nbd.NBD()
h.connect_uri(\"$uri\")
h.pwrite(b\"x\", 1000000)
os._exit(0)"'
wait_for_sum "$dir/disk"
manifest_is "$dir/disk"

# A client that stays connected until the signal; and a client whose process
# ends without a disconnect.
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
client "" "h.pwrite(b'y' * 100000, 2000000)
h2 = connect('')
h2.pwrite(b'z', 5)
os.kill($server, 15)
wait_until(lambda: b'ShdPnd:\t0000000000000000\n' in content('/proc/$server/status'))
os._exit(0)"
status=0
wait $server || status=$?
# nbdkit 1.32 closes no handles on SIGTERM, which valgrind reports as a leak.
[ $status = 0 ] || [ -n "$wrapper" ] || fail "exit status $status"
wait_for_sum "$dir/disk"
manifest_is "$dir/disk"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# As long as there is no sum there is no manifest; when the server is told to
# quit, there is one of what is known.

. "$(dirname "$0")/filter-functions.sh"
not_sanitized

make_image "$dir/image"

# refused: blksum has no use for what is there.
refused () {
  no_manifest
  refuses "too short for a manifest" blksum "manifest:$manifest"
  refuses "too short for a manifest" \
          blksum --compare "manifest:$manifest" "$dir/image"
}

# Something is missing, and is not to be read.
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest" \
      blkhash-missing=fail
refused
client "" 'h.pread(h.get_size() - 609, 0)'
line_comes '# incomplete -: the content of 609 bytes is not known'
refused
client "" 'h.pread(609, h.get_size() - 609)'
sum_comes "$dir/image"
manifest_is "$dir/image"
client "" 'h.trim(4096, 0)'
line_matches '^# incomplete -: '
refused
stop
refused

# A client that only looks: nothing is read for it.
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$manifest"
client "" 'h.pread(1, 0)'
wait_until all_left
refused
stop
says '^# incomplete -: '
refused

# The last request failed.
serve --filter=error file "$dir/image" error-pwrite-rate=100% \
      blkhash-file="$sums" blkhash-manifest="$manifest"
client "" 'try: h.pwrite(b"x", 0)
except nbd.Error: pass'
line_matches '^# incomplete -: '
refused
stop
refused

# With --run, nbdkit does not end before the manifest is there.
truncate -s 64m "$dir/disk"
write_data "$dir/disk" 0 20000000
run 0 nbdkit -U - --filter="$filter" file "$dir/disk" \
    blkhash-file="$sums" blkhash-manifest="$manifest" \
    --run 'nbdcopy "'"$dir/image"'" $uri'
sum_comes "$dir/disk"
manifest_is "$dir/disk"
run 0 nbdkit -U - --filter="$filter" file "$dir/disk" \
    blkhash-file="$sums" blkhash-manifest="$manifest" \
    --run '"'"$PYTHON"'" -c "
import nbd, os
h = nbd.NBD()
h.connect_uri(\"$uri\")
h.pwrite(b\"x\", 1000000)
os._exit(0)"'
sum_comes "$dir/disk"
manifest_is "$dir/disk"

# A client that stays until the signal has come; and what is known when it is
# gone without a word.
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
client "" "h.pwrite(b'y' * 100000, 2000000)
h2 = connect('')
h2.pwrite(b'z', 5)
os.kill($server, 15)
wait_until(lambda: b'ShdPnd:\t0000000000000000\n' in content('/proc/$server/status'))
os._exit(0)"
status=0
wait $server || status=$?
# nbdkit 1.32 closes no handles then, which valgrind calls a leak.
[ $status = 0 ] || [ -n "$wrapper" ] || fail "exit status $status"
sum_comes "$dir/disk"
manifest_is "$dir/disk"

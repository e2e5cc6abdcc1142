#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# There is never a stale sum or manifest: they are withdrawn before the first write
# reaches the plugin, and written again when the writer has disconnected.

. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit --filter=pause

make_image "$dir/disk"

# The manifest of an earlier server is removed at the start.
blksum --manifest "$manifest" "$dir/disk"
echo stale > "$manifest.blkhash-saving"
chmod 644 "$manifest"
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
no_manifest
copy "$uri" null:
wait_for_sum "$dir/disk"
manifest_is "$dir/disk"
only_lock_beside "$manifest"
stop
[ "$(ls "$manifest"*)" = "$manifest" ] || fail "left behind: $(ls "$manifest"*)"

for change in 'h.pwrite(b"x", 0)' 'h.zero(4096, 0)' 'h.trim(65536, 65536)'; do
  rm -f "$pause"
  serve --filter=pause file "$dir/disk" pause-control="$pause" \
        blkhash-file="$sums" blkhash-manifest="$manifest"
  copy "$uri" null:
  wait_for_sum "$dir/disk"
  manifest_is "$dir/disk"
  client "" "import threading
before = content('$dir/disk')
t = threading.Thread(target=lambda: $change)
pause()
t.start()
wait_until(lambda: content('$sums') == b'')
assert content('$manifest') == b'', 'it is still there'
assert content('$dir/disk') == before, 'the plugin was called'
resume()
t.join()
h.flush()
assert content('$sums') + content('$manifest') == b'', 'back too soon'"
  wait_for_sum "$dir/disk"
  manifest_is "$dir/disk"
  stop
  manifest_is "$dir/disk"
done

# Without a result file the sum goes to stderr; the manifest is the same.
serve file "$dir/disk" blkhash-manifest="$manifest"
copy "$uri" null:
wait_until test -s "$manifest"
manifest_is "$dir/disk"
client "" "h.pwrite(b'y', 1000)
assert content('$manifest') == b''"
wait_until test -s "$manifest"
manifest_is "$dir/disk"
stop

# A client reads other data than the manifest was made of, because the disk was
# changed from outside.
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/disk"
write_data "$dir/disk" 3000000 100000
copy "$uri" "$dir/copy"
wait_until all_disconnected
[ ! -s "$manifest" ] || manifest_is "$dir/disk"
stop
[ ! -s "$manifest" ] || manifest_is "$dir/disk"

# The server is killed while a client writes, and when a sum is published.
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/disk"
client "" "h.pwrite(b'z', 0)
os.kill($server, 9)
os._exit(0)"
wait $server || :
no_manifest
serve file "$dir/disk" blkhash-file="$sums" blkhash-manifest="$manifest"
copy "$uri" null:
wait_for_sum "$dir/disk"
kill -9 $server
wait $server || :
manifest_is "$dir/disk"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-update=true: the filter updates the manifest of an earlier server.
# It reads what changed in part and a sample, and finds what others changed.

. "$(dirname "$0")/../filter-functions.sh"
requires_nbdkit --filter=pause --filter=stats

size=$((128 * 1024 * 1024 + 1000))
make_image "$dir/disk"
truncate -s $size "$dir/disk"
stats=$dir/stats

# update PARAMETER...: a server that updates the manifest, with the filter
# $below below ours.
below=
update () {
  rm -f "$pause" "$stats"
  serve $below file "$dir/disk" blkhash-file="$sums" \
        blkhash-manifest="$manifest" blkhash-update=true "$@"
}

# identity: of the manifest; it changes when the file is replaced.
identity () {
  stat -c '%i %Y %Z' "$manifest"
}

# unknown REASON: the result file says only that.
unknown () {
  wait_for_line "# unknown -: $1"
  no_sum
}

# Without a manifest, and with an empty one, the whole disk is read.
for start in none empty; do
  rm -f "$manifest"
  [ $start = none ] || : > "$manifest"
  update
  client "" 'h.pwrite(b"x", 5)'
  wait_for_sum "$dir/disk"
  stop
  manifest_is "$dir/disk"
done

# A server that goes to the background uses what it loaded before.
if [ "$SANITIZE" = no ]; then
  rm -f "$sums" "$socket"
  $nbdkit_wrapper nbdkit -U "$socket" -P "$socket.pid" --filter="$filter" \
                  file "$dir/disk" blkhash-file="$sums" \
                  blkhash-manifest="$manifest" blkhash-update=true
  server=$(cat "$socket.pid")
  kill_at_exit "$server"
  client "" 'h.pwrite(b"w" * 100, 70000)'
  wait_for_sum "$dir/disk"
  kill "$server"
  wait_until eval '! kill -0 "$server" 2> /dev/null'
  manifest_is "$dir/disk"
fi

# A change empties the manifest before it reaches the plugin.
for change in 'h.pwrite(b"y" * 100, 70000)' 'h.zero(65536 * 3, 262144)' \
              'h.trim(65536, 131072)' 'h.pwrite(b"z" * 200000, 65536 * 9)'; do
  below=--filter=pause
  update pause-control="$pause"
  cmp "$dir/wanted" "$manifest"
  client "" "import threading
before = content('$dir/disk')
old = content('$manifest')
h.pread(4096, 0)
assert content('$manifest') == old
t = threading.Thread(target=lambda: $change)
pause()
t.start()
wait_until(lambda: content('$manifest') == b'')
assert content('$dir/disk') == before, 'the plugin was called'
resume()
t.join()
h.flush()
assert content('$manifest') == b'', 'it is back too soon'"
  wait_for_sum "$dir/disk"
  stop
  manifest_is "$dir/disk"
done

# Only a part of the disk is read: the sample has at least 64 units of 64 KiB.
below=--filter=stats
update statsfile="$stats"
client "" 'h.pwrite(b"a" * 10, 0); h.pwrite(b"b" * 131072, 1 << 20)'
wait_for_sum "$dir/disk"
stop
manifest_is "$dir/disk"
cat "$stats"
read_bytes=$("$PYTHON" -c '
import re, sys
m = re.search(r"^read: .*?([0-9.]+) (bytes|[KMG]iB)", open(sys.argv[1]).read(),
              re.M)
unit = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[m.group(2)]
print(int(float(m.group(1)) * unit))' "$stats")
[ "$read_bytes" -ge $((64 * 65536)) ] || fail "no audit: $read_bytes bytes read"
[ "$read_bytes" -le $((70 * 65536)) ] || fail "$read_bytes bytes were read"

# No audit.
below=--filter=stats
update statsfile="$stats" blkhash-audit=0%
client "" 'h.pwrite(b"b" * 65536, 1 << 20)'
wait_for_sum "$dir/disk"
stop
manifest_is "$dir/disk"
! grep '^read:' "$stats" || fail "something was read"

# Without a change the manifest is left as it is: with no client, if a client
# reads little, and if it reads all.
before=$(identity)
below=
update
stop
update
client "" 'h.pread(65536, 0)'
stop
unknown "the manifest was not audited"
update
client "" 'for i in range(0, 128 << 20, 16 << 20): h.pread(16 << 20, i)'
wait_for_sum "$dir/disk"
[ "$(identity)" = "$before" ] || fail "the manifest was replaced"
client "" 'h.pwrite(b"c", 77777)'
wait_for_sum "$dir/disk"
stop
manifest_is "$dir/disk"

# By another name, which reads the whole disk.
update
client "" 'h.pread(65536, 0)'
client "other" "h.pwrite(b'd', 0)
assert content('$manifest') == b''"
wait_for_sum "$dir/disk" other
manifest_is "$dir/disk"
stop

# poke OFFSET: changes a byte of the disk, not by way of the server.
poke () {
  printf '\377' | dd of="$dir/disk" bs=1 seek="$1" conv=notrunc 2> "$dir/dd"
}

# The audit finds what was changed meanwhile: in data, in zeros, at the end.
cp "$manifest" "$dir/good"
cp "$dir/disk" "$dir/good-disk"
for offset in 1048576 60000001 $((size - 1)); do
  poke $offset
  update blkhash-audit=100%
  client "" 'h.pwrite(b"e", 40000000)'
  first=$((offset / 65536 * 65536)) last=$((offset / 65536 * 65536 + 65535))
  [ $last -lt $size ] || last=$((size - 1))
  wait_for_match '^# unknown -: [0-9]* bytes at [0-9]* differ'
  no_sum
  stop
  no_sum
  [ ! -s "$manifest" ] || fail "there is a manifest"
  cp --sparse=always "$dir/good-disk" "$dir/disk"
  cp "$dir/good" "$manifest"

  # So does a client that reads it.
  poke $offset
  update
  client "" "h.pread($last + 1 - $first, $first)"
  unknown "$((last + 1 - first)) bytes at $first differ from the manifest"
  stop
  [ ! -s "$manifest" ] || fail "there is a manifest"
  cp --sparse=always "$dir/good-disk" "$dir/disk"
  cp "$dir/good" "$manifest"
done

# Blocks larger than a request.
requires_nbdkit --filter=blocksize-policy
rm -f "$manifest"
truncate -s 128M "$dir/disk"
below=--filter=blocksize-policy
large="blocksize-minimum=512 blocksize-preferred=4096
  blocksize-maximum=65536 blocksize-error-policy=error blkhash-block-size=4M"
update $large
client "" 'h.pwrite(b"f" * 512, 512)'
wait_for_sum4m () {
  wait_for_line "$(sum_line "$(reference -b 4m "$dir/disk")" - sha256/4m)"
}
wait_for_sum4m
stop
manifest_is "$dir/disk" -b 4m
update $large
client "" 'h.pwrite(b"g" * 512, 50000384)'
wait_for_sum4m
stop
manifest_is "$dir/disk" -b 4m
poke 9000000
update $large blkhash-audit=100%
client "" 'h.pwrite(b"g" * 512, 60000256)'
unknown "4194304 bytes at 8388608 differ from the manifest"
stop

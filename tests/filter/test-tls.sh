#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients use TLS; nbdkit's tls-fallback filter serves another disk to clients
# without TLS.  If clients of both kinds use a disk, there is no sum.

. "$(dirname "$0")/../filter-functions.sh"
nbdkit --dump-config | grep -q '^tls=yes' || skip "nbdkit without TLS"

make_image "$dir/image"
printf 'alice:%s\n' 0123456789abcdef0123456789abcdef > "$dir/psk"
secure () {
  echo "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk"
}

above="--tls=require --tls-psk=$dir/psk"
serve file "$dir/image" blkhash-file="$sums"
requires nbdinfo --size "$(secure)"
copy "$(secure)" "$dir/copy"
wait_for_sum "$dir/image"
stop

# tls-fallback above our filter: clients without TLS never reach it.
above="--tls=on --tls-psk=$dir/psk --filter=tls-fallback"
serve file "$dir/image" blkhash-file="$sums"
copy "$(secure)" "$dir/copy"
copy "$uri" "$dir/message"
wait_for_sum "$dir/image"
stop
wait_for_sum "$dir/image"

# tls-fallback below our filter: two disks have one name.  A client without TLS
# that only connects changes nothing, whenever it does that.
above="--tls=on --tls-psk=$dir/psk"
mixed='# unknown -: clients with and without TLS use it'
serve --filter=tls-fallback file "$dir/image" blkhash-file="$sums" \
      blkhash-manifest="$manifest"
requires "$PYTHON" -c 'import nbd; assert nbd.NBD().supports_tls()'
client "" 'assert h.get_size() != 8 << 20'
wait_until all_disconnected
[ ! -s "$sums" ] || fail "it connected first: $(cat "$sums")"
secure_client="def secure(name=''):
    s = nbd.NBD()
    s.set_tls(nbd.TLS_REQUIRE)
    s.set_tls_username('alice')
    s.set_tls_psk_file('$dir/psk')
    s.set_export_name(name)
    s.connect_unix(sys.argv[1])
    return s
"
client "" "$secure_client
s = secure()
connect('other').shutdown()
s.pread(s.get_size(), 0)
s.shutdown()"
wait_for_sum "$dir/image"
client "" 'h.get_size()'
wait_until all_disconnected
wait_for_sum "$dir/image"
manifest_is "$dir/image"

# One that reads takes the sum away, before the reply; and for ever.
client "" "h.pread(1, 0)
assert content('$sums') == b'$result_header\\n$mixed\\n'"
[ ! -s "$manifest" ] || fail "the manifest is there"
run 2 blksum --check "$sums"
copy "$(secure)" "$dir/copy"
wait_until all_disconnected
stop
has_line "$mixed" || fail "$(cat "$sums")"

# The same if it reads first, under another name.
serve --filter=tls-fallback file "$dir/image" blkhash-file="$sums"
client other 'h.pread(h.get_size(), 0)'
wait_until result_matches '(other) = '
copy "$(secure)" "$dir/copy"
wait_for_line "$mixed"
has_line "# unknown other: ${mixed#*: }" || fail "$(cat "$sums")"
stop

# Without tls-fallback there is one disk, which a client without TLS changes.
for distinct in false true; do
  cp "$dir/image" "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums" blkhash-distinct-exports=$distinct
  copy "$(secure)" "$dir/copy"
  wait_for_sum "$dir/disk"
  client "" "h.pwrite(b'x' * 10, 1000000)
assert content('$sums') == b'$result_header\\n$mixed\\n'"
  copy "$(secure)" "$dir/copy"
  wait_until all_disconnected
  stop
  has_line "$mixed" || fail "$(cat "$sums")"
done

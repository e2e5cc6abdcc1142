#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients use TLS; nbdkit's tls-fallback filter serves another disk to clients
# without TLS.

. "$(dirname "$0")/filter-functions.sh"
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
# has a line until a client with TLS connects, and none afterwards.
above="--tls=on --tls-psk=$dir/psk"
serve --filter=tls-fallback file "$dir/image" blkhash-file="$sums" \
      blkhash-manifest="$manifest"
copy "$uri" "$dir/message"
wait_for_sum "$dir/message"
copy "$(secure)" "$dir/copy"
wait_for_sum "$dir/image"
wait_until test -s "$manifest"
cp "$sums" "$dir/before"
# unchanged WHAT: the client without TLS left the line of the other disk alone.
unchanged () {
  cmp "$sums" "$dir/before" && manifest_is "$dir/image" ||
    fail "a client without TLS: $1: $(cat "$sums")"
}

# Whatever its requests and names are, and whenever it sends them.
requires "$PYTHON" -c 'import nbd; assert nbd.NBD().supports_tls()'
client "" 'assert h.get_size() != 8 << 20'
unchanged 'it connected'
copy "$uri" "$dir/message"
unchanged 'it read'
client other 'h.pread(1, 0); os._exit(0)'
unchanged 'it used another name'
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
h.pread(h.get_size(), 0)
s.pread(65536, 0)
connect('').shutdown()
s.shutdown()
h.pread(h.get_size(), 0)"
wait_until all_disconnected
unchanged 'it was connected before and after one with TLS'
stop
unchanged 'the server ended'

# A client with TLS connects first: its line is written although other names
# were used.
serve --filter=tls-fallback file "$dir/image" blkhash-file="$sums"
client "" 'for i in range(1000):
    other = connect("%d" % i)
    other.pread(1, 0)
    other.shutdown()
s = h'
copy "$(secure)" "$dir/copy"
wait_for_sum "$dir/image"
wait_until all_disconnected
stop
[ "$(cat "$sums")" = "$(reference "$dir/image")  -" ] ||
  fail "more than one line: $(head "$sums")"

# Without tls-fallback there is one disk: changes without TLS count.
for distinct in false true; do
  cp "$dir/image" "$dir/disk"
  serve file "$dir/disk" blkhash-file="$sums" blkhash-distinct-exports=$distinct
  # A client without TLS that was connected before only reads: the sum remains.
  client "" "$secure_client
s = secure()
s.pread(s.get_size(), 0)
s.shutdown()
wait_until(lambda: content('$sums').endswith(b'  -\n'))
h.pread(1000, 0)"
  wait_until all_disconnected
  [ "$(cat "$sums")" = "$(reference "$dir/image")  -" ] ||
    fail "a client without TLS only read: $(cat "$sums")"
  client "" 'h.pwrite(b"x" * 10, 1000000)
wait_until(lambda: not content("'"$sums"'").endswith(b"  -\n"))'
  wait_until all_disconnected
  [ "$(cat "$sums")" = "# incomplete -: it was changed by a client without TLS" ] ||
    fail "a client without TLS wrote: $(cat "$sums")"
  copy "$(secure)" "$dir/copy"
  wait_for_sum "$dir/disk"
  stop
done

# A client without TLS is idle, connected since before the first request with
# TLS.  It does not hide trims of connections that closed before others opened.
above="--tls=on --tls-psk=$dir/psk"
serve memory 1M blkhash-file="$sums"
client "" "$secure_client
closed = lambda n: wait_until(
    lambda: content('$log').count(b'blkhash: close\\n') == n)
b = secure('a')
a = secure('a')
a.pwrite(b'a' * (1 << 20), 0)
a.trim(65536, 0)
a.flush()
a.shutdown()
closed(1)
c = secure('c')
c.pread(1, 1 << 19)
b.trim(65536, 1 << 17)
b.pwrite(b'b' * 65536, 1 << 17)
b.flush()
b.shutdown()
closed(2)
c.flush()
c.pwrite(b'c', 1 << 18)
c.flush()
c.shutdown()
closed(3)
s = secure('c')
open('$dir/content', 'wb').write(s.pread(1 << 20, 0))
print(content('$sums').decode())"
grep -x "$(reference "$dir/content")  c" "$dir/stdout" ||
  fail "an idle client hides a change: $(cat "$dir/stdout")"
stop

is_long || exit 0

# If there are too many names, a client without TLS is not tracked; its changes
# still count when a client with TLS uses that disk.
serve memory 1M blkhash-file="$sums" blkhash-distinct-exports=true
client "" "$secure_client
for i in range(10000):
    other = connect('%d' % i)
    other.pread(1, 0)
    other.shutdown()
h = connect('X')
h.pread(1, 0)
s = secure('X')
s.pwrite(b'x' * (1 << 20), 0)
s.flush()
s.shutdown()
wait_until(lambda: content('$sums').endswith(b'  X\\n'))
h.pwrite(b'y' * 65536, 0)
assert not content('$sums').endswith(b'  X\\n')"
wait_until all_disconnected
wait_for_line '# incomplete X: it was changed by a client without TLS'
stop

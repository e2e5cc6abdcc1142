#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Connections that keep changes until they flush or close, and those that see
# changes by others only after a flush, with multi-conn too; flushes that are in
# flight, fail or do not exist; and the filters multi-conn and cache below ours.
# A sum that is published when all connections are closed is that of the disk, or
# of what a new connection reads.  Where flushes fail there may be none.
#
# make check does not run this test, because test-visibility-views.c runs such
# clients without nbdkit.  If it is run alone, in the short form, it has a ninth
# of most cases.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/image"

# serve_views PARAMETER...: starts a server with a new disk.
serve_views () {
  cp "$dir/image" "$dir/disk"
  serve_snapshot "$@"
}

# scenario CODE [NAME]...: runs CODE with connections "a", which is open
# already, and "b".  The server is stopped after the plugin has closed all of
# them: nbdkit does not call .close later, and so would lose what is not
# flushed.  A sum must be published where flushes work; where they do not, a
# correct sum or none.
plugin_closed_all () {
  [ "$(grep -c 'snapshot: closed$' "$log")" -ge \
    "$(grep -c 'snapshot: open readonly=' "$log")" ]
}

scenario () {
  code=$1
  shift
  for parameters in 'views=back' 'views=back multi-conn=true' \
                    'views=own' 'views=own multi-conn=true' \
                    'views=back multi-conn=true model=serialize_all_requests'; do
    every 9 23 || continue
    serve_views $parameters flush=fresh
    clients "a = connect()
b = connect()
$code"
    wait_until plugin_closed_all
    stop
    wait_for_sum "$dir/disk" "$@"
  done
  for parameters in 'views=back' 'views=back multi-conn=true'; do
    for flush in none refused eio; do
      every 9 23 || continue
      serve_views $parameters flush=$flush
      clients "def flush(self):
    try: self.flush_of_libnbd()
    except nbd.Error: pass
nbd.NBD.flush_of_libnbd, nbd.NBD.flush = nbd.NBD.flush, flush
a = connect()
b = connect()
$code"
      wait_until plugin_closed_all
      stop
      right_or_none "${@:--}"
    done
  done
}

whole='(b"%c" % byte) * 65536, 0'
part='(b"%c" % byte) * 100, 1000'
for range in "$whole" "$part"; do
  write="def write(h, byte): h.pwrite($range)
"
  # The disk has the data of the connection that closes last, not of the last
  # write.
  scenario "$write
write(a, 65)
write(b, 66)
b.flush()
b.shutdown()
a.shutdown()"
  scenario "$write
write(a, 65)
write(b, 66)
b.flush()
a.shutdown()
b.shutdown()"
  scenario "$write
write(b, 66)
write(a, 65)
b.flush()
write(b, 67)
a.shutdown()
b.shutdown()"
  # Data that another connection has not flushed yet is not read.
  scenario "$write
write(a, 65)
b.pread(8 << 20, 0)
b.block_status(8 << 20, 0, lambda *_: 0)
a.shutdown()
b.shutdown()"
  scenario "$write
write(a, 65)
b.pread(8 << 20, 0)
b.shutdown()
a.pread(8 << 20, 0)
a.shutdown()"
  # Nor data that it flushed before this connection did.
  scenario "$write
a.pread(1, 0)
write(b, 66)
b.pwrite(b'p', 200000)
b.shutdown()
a.pwrite(b'q', 300000)
a.shutdown()"
done
# The same by two names.
scenario 'c = connect("other")
a.pwrite(b"a" * 65536, 0)
c.pwrite(b"c" * 65536, 0)
c.flush()
c.shutdown()
a.shutdown()
b.shutdown()
all_closed()
c = connect("other")
c.pread(8 << 20, 0)
c.shutdown()' other

# A flush writes to the disk what its connection wrote earlier, over data that
# another connection is writing at the same time.  The order is unknown when
# that write has completed, although nothing is left to flush.
for parameters in 'views=back' 'views=back multi-conn=true'; do
  for range in "$whole" "$part"; do
    serve_views $parameters
    clients "def data(byte): return $range
a = connect()
a.pwrite(*data(65))
b = connect()
held = Hold('flush-done')
content, offset = data(66)
b.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(content)), offset,
             flags=nbd.CMD_FLAG_FUA)
wait_for(b, held.is_there)
a.flush()
held.release()
wait(b)
a.shutdown()
b.shutdown()"
    stop
    wait_for_sum "$dir/disk"
  done
done

# A flush that fails can also lose data that was written while it was in flight,
# and data that another request is writing or flushing then.  The next flush
# succeeds, because there is nothing left to write.
for parameters in 'views=back' 'views=back multi-conn=true'; do
  while read -r code; do
    serve_views $parameters flush=eio-once
    clients "def hold(call, begin):
    held = Hold(call)
    begin()
    wait_for(a, held.is_there)
    return held
def flush(): return hold('flush', a.aio_flush)
def fail():
    try: a.flush()
    except nbd.Error: return
    sys.exit('the flush did not fail')
def change(): write(a, b'c' * 65536, 0)
def done(): wait_for(a, lambda: a.aio_in_flight() == 1)
def read(): a.aio_pread(nbd.Buffer(65536), 0)
a = connect()
$code
held.release()
wait(a)
a.pread(1, 1 << 20)
a.shutdown()"
    stop
    wait_for_sum "$dir/disk"
  done <<'END'
held = flush(); change(); done()
a.pwrite(b"d", 2 << 20); held = flush(); change(); done()
a.pwrite(b"d", 2 << 20); held = flush(); a.pwrite(b"c", 0); fail()
begun = flush(); a.pwrite(b"c", 0); held = hold("flush-lost", begun.release); a.flush()
held = hold("pwrite-done", change); fail()
a.pwrite(b"c" * 65536, 0); held = hold("pread-done", read); fail(); a.pread(1, 0)
END
done

# A connection is opened before a change is flushed, and reads after the flush.
for parameters in 'views=back' 'views=back multi-conn=true'; do
  serve_views $parameters
  clients 'a = connect()
a.trim(65536, 0)
b = connect()
a.flush()
b.pread(65536, 0)
b.shutdown()
a.shutdown()'
  stop
  wait_for_sum "$dir/disk"
done

# One connection trims, another one writes, both open at once.  A later
# connection proves the content, even if it only connects.
serve_views views=shared
clients 'a = connect()
b = connect()
a.trim(4096, 0)
b.pwrite(b"b" * 4096, 8192)
a.shutdown()
b.shutdown()
logged("blkhash: close", 2)'
wait_for_line '# unknown -: the last client may not see what others changed'
run 0 nbdinfo "$uri"
wait_for_sum "$dir/disk"
stop

# A flush is in flight: it does not flush what is changed meanwhile.
serve_views views=back
clients 'a = connect()
b = connect()
a.pwrite(b"1" * 65536, 65536)
hold = Hold("flush-done")
flush = a.aio_flush()
wait_for(a, hold.is_there)
write(a, b"1" * 65536, 0)
wait_for(a, lambda: a.aio_in_flight() == 1)
b.pwrite(b"2" * 65536, 0)
b.flush()
b.shutdown()
hold.release()
wait(a)
a.shutdown()'
stop
wait_for_sum "$dir/disk"

# A connection flushes its changes before it is closed.  If that flush fails,
# these changes are unknown, whether it is the last connection or not.
serve_views views=shared
clients 'a = connect()
a.pread(1, 0)
a.shutdown()'
wait_until grep -q 'blkhash: close$' "$log"
! grep -q 'snapshot: flush' "$log" || fail "flushed without need"
clients 'a = connect()
a.pwrite(b"x" * 10, 0)
a.flush()
a.shutdown()'
wait_for_sum "$dir/disk"
[ "$(grep -c 'snapshot: flush' "$log")" = 1 ] || fail "flushed twice"
clients 'a = connect()
a.pwrite(b"y" * 65536, 0)
a.shutdown()'
wait_for_sum "$dir/disk"
[ "$(grep -c 'snapshot: flush' "$log")" = 2 ] || fail "not flushed"
stop
serve_views views=back flush=eio
clients 'a = connect()
b = connect()
b.pwrite(b"b" * 65536, 0)
b.shutdown()
a.pread(8 << 20, 0)
a.shutdown()'
wait_for_match '^# unknown -: '
stop
no_sum

# A connection is opened while another one, which trimmed, reads the missing
# blocks.  The new one may never see that trim; the other one proves it.
serve_views views=shared
clients 'a = connect()
a.trim(65536, 5 << 20)
rest = Hold("pread")
left = later(a.shutdown)
rest.wait()
b = connect()
b.pwrite(b"b", 2 << 20)
rest.release()
left.get()
logged("blkhash: close")
b.shutdown()'
wait_for_sum "$dir/disk"
stop

# Filters that advertise multi-conn for a plugin without it.  Trims pass by the
# cache filter.  They are proven by the connection that trims, when it closes,
# or by a later one.
for filter_below in 'multi-conn multi-conn-mode=emulate' 'multi-conn' \
                    'cache' 'cache cache=writethrough' 'cache cache=unsafe'; do
  set -- $filter_below
  requires_nbdkit --filter=$1
  for change in 'pwrite(b"b" * 65536, 0)' 'pwrite(b"b", 100000)' \
                'zero(65536, 0)' 'trim(65536, 0)'; do
    for views in own back; do
      every 9 23 || continue
      cp "$dir/image" "$dir/disk"
      serve --filter=$1 "$snapshot" file="$dir/disk" views=$views $2 \
            hold="$dir/hold" blkhash-file="$sums"
      clients "a = connect()
a.pwrite(b'a', 1500000)
b = connect()
b.$change
b.shutdown()
logged('blkhash: close')
a.shutdown()
logged('blkhash: close', 2)
print(sums())
h = connect()
wanted = h.pread(8 << 20, 0)
open('$dir/wanted', 'wb').write(wanted)
h.shutdown()"
      # The results after "a" has disconnected, and at the end.
      for sum in $(sed -n 's/^blk-.* (-) = //p' "$dir/stdout"); do
        [ "$sum" = "$(reference "$dir/wanted")" ] ||
          fail "wrong sum after $change with $filter_below"
      done
      wait_for_sum "$dir/wanted"
      stop
    done
  done
done

# A connection that does not see the trim of another one writes a part of a
# block of the cache filter, which writes back the old content of the rest.

# is_right WHAT: the clients printed at least one sum, and each is that of the
# content that the last client read.
is_right () {
  wanted=$(reference --block-size 4096 "$dir/wanted")
  wanted=$(sum_line "$wanted" - sha256/4k)
  grep -qxF "$wanted" "$dir/stdout" || fail "no sum: $1"
  ! grep -vxF "$wanted" "$dir/stdout" | grep '^blk-' ||
    fail "wrong sum: $1"
}

# serve_cache VIEWS FILTER PARAMETER...
serve_cache () {
  requires_nbdkit --filter=cache "--filter=$2"
  cp "$dir/image" "$dir/disk"
  views=$1
  filter_above=$2
  shift 2
  serve "--filter=$filter_above" --filter=cache "$snapshot" file="$dir/disk" \
        views=$views cache=unsafe \
        blkhash-block-size=4096 blkhash-file="$sums" "$@"
}

look="print(sums())
connect().shutdown()
logged('blkhash: close', 3)
print(sums())
h = connect()
open('$dir/wanted', 'wb').write(h.pread(h.get_size(), 0))
h.shutdown()"

# Blocks of the cache filter can be larger than ours, and begin at any offset if
# a filter between the two shifts the disk.
while read -r shift size at; do
  serve_cache own offset offset=$shift cache-min-block-size=$size
  clients "a = connect()
b = connect()
a.trim(131072, 0)
a.flush()
a.pread(131072, 0)
a.shutdown()
logged('blkhash: close')
b.pwrite(b'b' * 4096, $at)
b.shutdown()
logged('blkhash: close', 2)
$look"
  is_right "offset=$shift, blocks of $size"
  stop
done << 'END'
0 64k 65536
32768 64k 65536
0 1m 524288
END

# The same for a connection that is opened after the other one has disconnected,
# and before it is closed.  The plugin writes the trim at .close, as the cache
# filter flushes nothing.
serve_cache back delay delay-close=1 cache-min-block-size=64k
clients "a = connect()
a.trim(131072, 0)
a.flush()
a.pread(131072, 0)
closing = later(a.shutdown)
logged('blkhash: finalize')
logged('delay: finalize')
b = connect()
closing.get()
logged('blkhash: close')
b.pwrite(b'b' * 4096, 65536)
b.shutdown()
logged('blkhash: close', 2)
$look"
is_right "opened before the other one was closed"
stop

# A prefetch keeps in the cache filter what its connection sees: the old content
# of a trimmed range.  Sums that were published are withdrawn.  The correct sum
# is published when a later client has disconnected; for another name, when it
# has read the disk.  With distinct exports no client had used the name when the
# second connection was opened.
prefetched () {
  name=$1
  shift
  for views in own back; do
    serve_cache $views delay cache-on-read=false "$@"
    clients "b = connect()
a = connect('$name')
a.trim(131072, 0)
a.flush()
a.pread(a.get_size(), 0)
a.shutdown()
logged('blkhash: close')
b.cache(131072, 0)
print(sums())
b.shutdown()
logged('blkhash: close', 2)
connect('$name').shutdown()
logged('blkhash: close', 3)
print(sums().replace('other', '-'))
h = connect('$name')
open('$dir/wanted', 'wb').write(h.pread(h.get_size(), 0))
h.shutdown()
if '$name':
    logged('blkhash: close', 4)
    print(sums().replace('other', '-'))"
    is_right "after a prefetch of ${name:-the same name} $*"
    [ -z "$name" ] || grep -q "^# unknown other: a prefetch" "$dir/stdout" ||
      fail "the sum of another name was not withdrawn"
    stop
  done
}
prefetched ''
prefetched other
prefetched '' blkhash-distinct-exports=true

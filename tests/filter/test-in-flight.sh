#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# While a change of the disk is in flight, by any export name, no sum of the old
# content is published: if the server is killed, it would stay.

. "$(dirname "$0")/../hold-functions.sh"

make_image "$dir/image"

# in_flight CALL CHANGE CODE [PARAMETER]: in CODE clients of "a" connect and
# disconnect, while CHANGE by the name "b" is held in CALL.  $dir/while is the
# result file at that time.
in_flight () {
  cp "$dir/image" "$dir/disk"
  serve_snapshot $4
  clients "def closed(n=1):
    logged('snapshot: closed', n)
b = connect('b')
a = connect('a')
a.pread(8 << 20, 0)
hold = Hold('$1')
def begin():
    global change
    change = later(lambda: b.$2)
    hold.wait()
$3
open('$dir/while', 'w').write(sums())
if not '$killed':
    hold.release()
    change.get()
    b.shutdown()
else:
    os.kill($server, 9)
    os._exit(0)"
  if [ -n "$killed" ]; then
    wait $server || :
  else
    stop
    [ -n "$4" ] || right_or_none a b
  fi
}

# no_sum_meanwhile: no sum then; and none at the end, if the server was killed.
no_sum_meanwhile () {
  ! grep '^blk-' "$dir/while" ||
    fail "a sum was published while a change was in flight"
  [ -z "$killed" ] || no_sum
}

for killed in '' yes; do
  for call in pwrite pwrite-done zero-done trim-done; do
    case $call in
      pwrite*) change='pwrite(b"x" * 65536, 0)' ;;
      *) change="${call%-*}(65536, 0)" ;;
    esac
    # The last client of "a" disconnects.
    in_flight $call "$change" 'begin()
a.shutdown()
closed()'
    no_sum_meanwhile
    # A sum is published.  Another client connects and disconnects.
    in_flight $call "$change" 'a.shutdown()
closed()
begin()
a = connect("a")
a.shutdown()
closed(2)'
    no_sum_meanwhile
    # A name that was not used before the change began.
    in_flight $call "$change" 'a.shutdown()
closed()
begin()
c = connect("c")
c.pread(8 << 20, 0)
c.shutdown()
closed(2)'
    no_sum_meanwhile
  done
done

killed=
# Distinct exports do not wait for each other.
in_flight pwrite-done 'pwrite(b"x" * 65536, 0)' 'begin()
a.shutdown()
closed()' blkhash-distinct-exports=true
grep -qxF "$(sum_line "$(reference "$dir/image")" a)" "$dir/while" || fail "no sum of a"

# The change completes while the missing blocks of "a" are read.
for offset in 0 200000 1000003 8388000; do
  for call in pread pread-done; do
    cp "$dir/image" "$dir/disk"
    serve_snapshot
    clients "a = connect('a')
b = connect('b')
a.pwrite(b'x', 200000)
hold = Hold('pwrite-done')
change = later(b.pwrite, b'y' * 600, $offset)
hold.wait()
reading = Hold('$call')
left = later(a.shutdown)
reading.wait()
hold.release()
change.get()
reading.release()
left.get()
logged('snapshot: closed')
b.shutdown()"
    stop
    right_or_none a b
  done
done

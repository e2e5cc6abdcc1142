#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The disk is changed through another export name while the filter reads missing
# blocks, after the last client of this name has disconnected: the sum is right,
# and only the changed part is read twice.  A connection that does not see the
# change stops reading.

. "$(dirname "$0")/../hold-functions.sh"

mib=1048576

# pass CODE BYTES PARAMETER...: CODE disconnects the last client of "a", and the
# filter reads the missing blocks.  It must read no more than BYTES and one
# block.
pass () {
  code=$1
  most=$(($2 + 65536))
  shift 2
  rm -f "$dir/disk"
  write_data "$dir/disk" 0 $((8 * mib))
  serve_snapshot "$@"
  clients "b = connect('b')
a = connect('a')
a.pwrite(b'a', 0)
$code
left.get()
logged('snapshot: closed')
read = sum(int(line.split('count=')[1].split()[0])
           for line in log().splitlines() if 'snapshot: pread count=' in line)
assert read <= $most, '%d bytes were read' % read
b.shutdown()"
  wait_until all_disconnected
}

right () {
  for name in a b; do
    has_line "$(sum_line "$(reference "$dir/disk")" "$name")" ||
      fail "no correct sum of $name:
$(cat "$sums")"
  done
}

# changed_at OFFSET: changes the disk there while the second MiB is read.
changed_at () {
  echo "first = Hold('pread')
left = later(a.shutdown)
first.wait()
second = Hold('pread')
first.release()
second.wait()
b.pwrite(b'b', $1)
if b.can_flush(): b.flush()
second.release()"
}

# Offsets that were read before, are being read, and are read later.
for offset in 1000 1500000 8388607; do
  change=$(changed_at $offset)
  for views in shared own; do
    pass "$change" $((8 * mib)) views=$views
    right
    stop
  done
  # A connection that does not see the change.
  pass "$change" $((2 * mib)) views=own flush=none
  stop
  right_or_none a b
done

# A block that changes each time it is read.
pass 'hold = Hold("pread")
left = later(a.shutdown)
while "snapshot: closed" not in log():
    if hold.is_there():
        b.pwrite(b"b", 1000)
        b.flush()
        held, hold = hold, Hold("pread")
        held.release()
    time.sleep(0.01)
os.unlink(hold.path)' $((9 * mib)) views=shared
wait_for_line '# unknown a: it was changed through another export name'
stop
right_or_none a b

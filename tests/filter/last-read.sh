# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after hold-functions.sh by test-last-read-AFTER.sh, which sets $after.
#
# A disconnected connection queries extents and reads the missing blocks, while
# a new connection changes the disk.  What the old one reads of the changed
# range is discarded, at whatever step the change happens.  The short form holds
# every fifth step.

[ -z "$wrapper" ] || skip "not in valgrind"

make_image "$dir/image"
nbdkit_wrapper="env LD_PRELOAD=$snapshot"

step=0
places=0
# Each run begins at another step.
cases=$(($(od -An -N1 -tu1 /dev/urandom) % 5))
echo "begins with $cases"
held=yes
while [ -n "$held" ]; do
  step=$((step + 1))
  every 5 || continue
  places=$((places + 1))
  cp "$dir/image" "$dir/disk"
  serve_snapshot views=own flush=none
  clients "a = connect()
a.pwrite(b'x', 200000)
open('$dir/hold/lock-after-$after', 'w').write('$step')
hold = Hold('lock')
left = later(a.shutdown)
while not hold.is_there():
    if 'snapshot: closed' in log():
        os.unlink(hold.path)
        break
    time.sleep(0.01)
else:
    # A sum that is there already was published before the thread was held.
    if sums():
        hold.release()
    else:
        print('held')
        b = connect()
        b.trim(8 << 20, 0)
        hold.release()
        left.get()
        logged('snapshot: closed')
        b.shutdown()"
  held=$(cat "$dir/stdout")
  stop
  right_or_none
  [ $step -lt 200 ] || fail "no end after 200 steps"
done
# At least one step must have been held, or this tests nothing.
[ $places -gt 1 ] || fail "not held after $after"
echo "held at $((places - 1)) places of $step after $after"

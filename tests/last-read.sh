# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced by test-filter-last-read-AFTER.sh, which sets $after.
#
# A connection that has left asks and reads what is missing, while a new one
# changes the disk: what the old one sees of it then is of no use, wherever
# between its steps that is; in the short form at each fifth place.

. "$(dirname "$0")/hold-functions.sh"
not_sanitized
[ -z "$wrapper" ] || skip "not in valgrind"

make_image "$dir/image"
nbdkit_wrapper="env LD_PRELOAD=$snapshot"

step=0
places=0
# Another fifth of them each time.
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
    # What is in the file already was not learnt while it was held.
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
  [ $step -lt 200 ] || fail "it never ends"
done
# At least one, or this tests nothing.
[ $places -gt 1 ] || fail "not held after $after"
echo "held at $((places - 1)) places of $step after $after"

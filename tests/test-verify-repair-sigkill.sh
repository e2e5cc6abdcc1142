#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit is killed while the verify filter repairs a disk, before each write and
# each flush: no good block has changed, and the next server repairs the rest.

. "$(dirname "$0")/verify-functions.sh"
requires_no_sanitizer
[ -z "$wrapper" ] || skip "strace and valgrind do not work together"
requires strace -f -o /dev/null true
prove "$image"
cd "$dir"
cp "$image" twin
cp "$image" damaged
bad="1 2 17 18 19 80"
for block in $bad; do
  flip damaged $((block * 65536 + 24))
done

# repair_disk: reads all blocks in their order, with one request at a time.
repair_disk () {
  verify -t 1 file disk blkhash-verify-repair=twin \
         blkhash-verify-repair-write=true blkhash-verify-repair-limit=100%
  client "" "
try:
    for at in range(0, h.get_size(), 65536):
        h.pread(65536, at)
except nbd.Error:
    pass
os._exit(0)"
}

# killed: strace ends with the signal that has killed nbdkit.
killed () {
  status=0
  wait $server || status=$?
  grep -q '+++ killed by SIGKILL +++' trace || fail "not killed: $status $(cat trace)"
}

# A kill before call N.  A block that was written, or is written at the moment,
# is as in the image or as before.
cp damaged disk
repair_disk
stop
cmp "$image" disk || fail "not repaired"
nbdkit_wrapper_before=$nbdkit_wrapper
for call in pwrite64 fdatasync; do
  for number in 1 2 3 4 5 6; do
    cp damaged disk
    nbdkit_wrapper="strace -f -o trace -e trace=$call
      -e inject=$call:signal=KILL:when=$number"
    repair_disk
    killed
    nbdkit_wrapper=$nbdkit_wrapper_before
    "$PYTHON" - "$image" damaged disk "$bad" << 'END' || fail "$call $number"
import sys
good, bad, now = (open(name, "rb").read() for name in sys.argv[1:4])
damaged = set(map(int, sys.argv[4].split()))
assert len(now) == len(good)
left = 0
for block in range(len(good) // 65536):
    at = slice(block * 65536, (block + 1) * 65536)
    assert now[at] == good[at] or (block in damaged and now[at] == bad[at])
    left += now[at] != good[at]
print(left, "bad blocks are left")
END
    repair_disk
    stop
    cmp "$image" disk || fail "$call $number: not repaired afterwards"
  done
done

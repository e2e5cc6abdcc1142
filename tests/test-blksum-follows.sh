#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --expect --size: what follows the image on its disk is told, zero or
# not, and from where on; of a disk of any kind, and only of one that was asked
# about.

. "$(dirname "$0")/functions.sh"

cd "$dir"
size=1000004
: > image
write_data image 0 $size
sum=$(reference image)

# tells LINE IMAGE [OPTION]...: it is that image, and LINE is said of the rest.
tells () {
  line=$1 image=$2
  shift 2
  run 0 blksum --expect $sum --size $size "$@" "$image"
  [ ! -s stderr ] || fail "unexpected message"
  { echo "$image: OK"; [ -z "$line" ] || echo "$image: what follows $line"; } |
    cmp - stdout || fail "does not say '$line'"
}
zero="is zero, 32554428 bytes"
from () { echo "is not zero, from offset $1 on"; }

# new_disk NAME [OFFSET]...: 32 MiB that begin with the image, and one byte is
# not zero at each offset behind it.
new_disk () {
  cp image "$1"
  truncate -s 33554432 "$1"
  disk=$1
  shift
  for offset; do
    write_data $disk $offset 1
  done
}

tells "" image
new_disk hole
tells "$zero" hole
tells "$zero" hole --no-extents
tells "$zero" hole -t 1
cp hole zeros
write_zeros zeros $size 32554428
tells "$zero" zeros
head -c $((size + 1)) hole > one
tells "is zero, 1 bytes" one
for offset in 1000004 1000005 1003519 1003520 1048575 1048576 5000000 33554431; do
  every 1 2 || continue
  new_disk data $offset
  tells "$(from $offset)" data
  tells "$(from $offset)" data --no-extents -t 1
  tells "$(from $offset)" data --cache -b 4 \
        --expect $(reference -b 4 image)
  write_data data 33554431 1
  tells "$(from $offset)" data
done
: > empty
size=0 sum=$(reference empty)
new_disk data 7000000
tells "$(from 0)" data
truncate -s 1g empty
tells "is zero, 1073741824 bytes" empty
size=1000004 sum=$(reference image)

# Only of what matches, and of what was asked.
new_disk data 2000000
run 0 blksum -q --expect $sum --size $size data
[ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
run 1 blksum --expect $sum --size 1000005 data
[ "$(cat stdout)" = "data: FAILED" ] || fail "told of another image"
run 0 blksum --expect $(reference data) data
[ "$(cat stdout)" = "data: OK" ] || fail "told without --size"
run 0 blksum --size $size data
[ "$(wc -l < stdout)" = 1 ] || fail "told without --expect"

# A pipe is not read on.
pipe () { cat data | blksum "$@"; }
run 0 pipe --expect $sum --size $size
printf '%s\n' "-: OK" "-: what follows was not read" | cmp - stdout ||
  fail "told of a pipe"
run 0 pipe --expect $(reference data)
[ "$(cat stdout)" = "-: OK" ] || fail "told of a whole pipe"
# A file on standard input is, and is left where the image ends.
position () { (blksum "$@" && cat | wc -c) < data; }
run 0 position --expect $sum --size $size
printf '%s\n' "-: OK" "-: what follows $(from 2000000)" 32554428 |
  cmp - stdout || fail "told of standard input"

# A name makes no other line.
newline=$(printf 'a\nb')
cp data "$newline"
run 0 blksum --expect $sum --size $size "$newline"
[ "$(wc -l < stdout)" = 2 ] || fail "lines of a name"

requires_qemu
for offset in 1000004 1003519 1050000 33554431; do
  every 1 2 || continue
  new_disk data $offset
  for format in qcow2 vmdk; do
    qemu-img convert -f raw -O $format data converted
    tells "$(from $offset)" converted
    tells "$(from $offset)" converted --no-extents
    BLKSUM_DIRECT=0 tells "$(from $offset)" converted
  done
  qemu-img convert -f raw -O qcow2 -c data converted
  tells "$(from $offset)" converted
done
qemu-img convert -f raw -O qcow2 hole converted
tells "$zero" converted
BLKSUM_DIRECT=0 tells "$zero" converted
qemu-img convert -f raw -O qcow2 -S 0 zeros converted
tells "$zero" converted

# ---- What is read for it ----

requires_nbdkit file eval --filter=log --filter=noextents
# asked_for NAME FROM TO: bytes, in this part, by the log; at most those of a few
# reads in flight are too many.
asked_for () {
  "$PYTHON" - "$@" << 'END'
import re, sys
start, end = int(sys.argv[2]), int(sys.argv[3])
total = 0
for offset, count in re.findall(r" %s .*offset=(0x\w+) count=(0x\w+)"
                                % sys.argv[1], open("log").read()):
    first = max(int(offset, 16), start)
    total += max(0, min(int(offset, 16) + int(count, 16), end) - first)
print(total)
END
}
start_nbdkit --filter=log file hole logfile="$dir/log"
tells "$zero" "$uri"
[ "$(asked_for Read 1048576 33554432)" = 0 ] || fail "a hole was read"
start_nbdkit --filter=log --filter=noextents file zeros logfile="$dir/log"
tells "$zero" "$uri"
[ "$(asked_for Read 1048576 33554432)" = 32505856 ] ||
  fail "read $(asked_for Read 1048576 33554432) bytes"
# With one thread all before the data was seen when more is asked for.
new_disk data 1048577 33000000
start_nbdkit --filter=log --filter=noextents file data logfile="$dir/log"
tells "$(from 1048577)" "$uri"
: > log
tells "$(from 1048577)" "$uri" -t 1 --queue-depth 1 --read-size 64k
[ "$(asked_for Read 8388608 33554432)" = 0 ] || fail "read on behind data"
# Without a line nothing is.
: > log
run 0 blksum -q --expect $sum --size $size "$uri"
[ "$(asked_for Read $size 33554432)" = 0 ] || fail "read with --quiet"

# ---- What cannot be read ----

start_nbdkit eval get_size='echo 33554432' pread="
if [ \$4 -ge 2097152 ]; then echo EIO broken >&2; exit 1; fi
head -c \$((\$4 + \$3)) '$dir/hole' | tail -c \$3"
run 2 blksum --expect $sum --size $size "$uri"
[ "$(cat stdout)" = "$uri: OK" ] || fail "told of what was not read"
grep -q "cannot read at offset" stderr || fail "no reason"
run 0 blksum -q --expect $sum --size $size "$uri"

requires_root
requires_program losetup
attach () {
  device=$(losetup --find --show "$1" 2> losetup.log) ||
    skip "no loop device: $(cat losetup.log)"
  at_exit "losetup -d $device"
}
attach data
tells "$(from 1048577)" $device
attach zeros
tells "$zero" $device

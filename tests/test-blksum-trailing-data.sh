#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --expect --size reports whether the trailing data after the image on
# its disk is zero, and otherwise the offset of the first nonzero byte; for
# disks of all formats, and only if both options are given.

. "$(dirname "$0")/functions.sh"

cd "$dir"
size=1000004
: > image
write_data image 0 $size
sum=$(reference image)

# reports LINE IMAGE [OPTION]...: the image matches, and LINE is about trailing
# data.
reports () {
  line=$1 image=$2
  shift 2
  run 0 blksum --expect $sum --size $size "$@" "$image"
  [ ! -s stderr ] || fail "unexpected message"
  { echo "$image: OK"; [ -z "$line" ] || echo "$image: what follows $line"; } |
    cmp - stdout || fail "expected '$line'"
}
zero="is zero, 32554428 bytes"
from () { echo "is not zero, from offset $1 on"; }

# new_disk NAME [OFFSET]...: 32 MiB that begin with the image, and are zero
# after it except for one byte at each OFFSET.
new_disk () {
  cp image "$1"
  truncate -s 33554432 "$1"
  disk=$1
  shift
  for offset; do
    write_data $disk $offset 1
  done
}

reports "" image
new_disk hole
reports "$zero" hole
reports "$zero" hole --no-extents
reports "$zero" hole -t 1
cp hole zeros
write_zeros zeros $size 32554428
reports "$zero" zeros
head -c $((size + 1)) hole > one
reports "is zero, 1 bytes" one
for offset in 1000004 1000005 1003519 1003520 1048575 1048576 5000000 33554431; do
  every 1 2 || continue
  new_disk data $offset
  reports "$(from $offset)" data
  reports "$(from $offset)" data --no-extents -t 1
  reports "$(from $offset)" data --cache -b 4 \
        --expect $(reference -b 4 image)
  write_data data 33554431 1
  reports "$(from $offset)" data
done
: > empty
size=0 sum=$(reference empty)
new_disk data 7000000
reports "$(from 0)" data
truncate -s 1g empty
reports "is zero, 1073741824 bytes" empty
size=1000004 sum=$(reference image)

# It is reported only if the image matches, and only with both options.
new_disk data 2000000
run 0 blksum -q --expect $sum --size $size data
[ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
run 1 blksum --expect $sum --size 1000005 data
[ "$(cat stdout)" = "data: FAILED" ] ||
  fail "reported for an image that differs"
run 0 blksum --expect $(reference data) data
[ "$(cat stdout)" = "data: OK" ] || fail "reported without --size"
run 0 blksum --size $size data
[ "$(wc -l < stdout)" = 1 ] || fail "reported without --expect"

# A pipe is not read beyond the image.
pipe () { cat data | blksum "$@"; }
run 0 pipe --expect $sum --size $size
printf '%s\n' "-: OK" "-: what follows was not read" | cmp - stdout ||
  fail "the output for a pipe"
run 0 pipe --expect $(reference data)
[ "$(cat stdout)" = "-: OK" ] || fail "the output for a pipe without --size"
# A file on standard input is, and its offset is left at the end of the image.
position () { (blksum "$@" && cat | wc -c) < data; }
run 0 position --expect $sum --size $size
printf '%s\n' "-: OK" "-: what follows $(from 2000000)" 32554428 |
  cmp - stdout || fail "the output for standard input"

# A newline in a name does not make another line.
newline=$(printf 'a\nb')
cp data "$newline"
run 0 blksum --expect $sum --size $size "$newline"
[ "$(wc -l < stdout)" = 2 ] || fail "the name made another line"

requires_qemu
for offset in 1000004 1003519 1050000 33554431; do
  every 1 2 || continue
  new_disk data $offset
  for format in qcow2 vmdk; do
    qemu-img convert -f raw -O $format data converted
    reports "$(from $offset)" converted
    reports "$(from $offset)" converted --no-extents
    BLKSUM_DIRECT=0 reports "$(from $offset)" converted
  done
  qemu-img convert -f raw -O qcow2 -c data converted
  reports "$(from $offset)" converted
done
qemu-img convert -f raw -O qcow2 hole converted
reports "$zero" converted
BLKSUM_DIRECT=0 reports "$zero" converted
qemu-img convert -f raw -O qcow2 -S 0 zeros converted
reports "$zero" converted

# ---- Which data is read ----

requires_nbdkit file eval --filter=log --filter=noextents
# asked_for NAME FROM TO: prints how many bytes of this range the requests NAME
# in the log asked for.
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
reports "$zero" "$uri"
[ "$(asked_for Read 1048576 33554432)" = 0 ] || fail "a hole was read"
start_nbdkit --filter=log --filter=noextents file zeros logfile="$dir/log"
reports "$zero" "$uri"
[ "$(asked_for Read 1048576 33554432)" = 32505856 ] ||
  fail "read $(asked_for Read 1048576 33554432) bytes"
# A single thread finds the data before it sends more requests.
new_disk data 1048577 33000000
start_nbdkit --filter=log --filter=noextents file data logfile="$dir/log"
reports "$(from 1048577)" "$uri"
: > log
reports "$(from 1048577)" "$uri" -t 1 --queue-depth 1 --read-size 64k
[ "$(asked_for Read 8388608 33554432)" = 0 ] ||
  fail "read beyond the first data"
# Nothing is read if no line is printed.
: > log
run 0 blksum -q --expect $sum --size $size "$uri"
[ "$(asked_for Read $size 33554432)" = 0 ] || fail "read with --quiet"

# ---- Trailing data that cannot be read ----

start_nbdkit eval get_size='echo 33554432' pread="
if [ \$4 -ge 2097152 ]; then echo EIO broken >&2; exit 1; fi
head -c \$((\$4 + \$3)) '$dir/hole' | tail -c \$3"
run 2 blksum --expect $sum --size $size "$uri"
[ "$(cat stdout)" = "$uri: OK" ] || fail "reported although it was not read"
grep -q "cannot read at offset" stderr || fail "no error with the reason"
run 0 blksum -q --expect $sum --size $size "$uri"

requires_root
requires_program losetup
attach data
reports "$(from 1048577)" $device
attach zeros
reports "$zero" $device

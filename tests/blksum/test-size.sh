#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --size: the image is the first bytes of its source.  The sum is that of
# an image that ends there, for all kinds of sources, and nothing more is read
# from a pipe.

. "$(dirname "$0")/../functions.sh"

cd "$dir"
make_image raw                  # 8388608 bytes
size=8388608

# first N [OPTION]...: prints the sum of the first N bytes.  It is computed
# once; those of the numbers below together.
mkdir sums
first () {
  of=sums/$(echo "$*" | tr ' ' _)
  if [ ! -s "$of" ]; then
    head -c $1 raw > first
    shift
    reference "$@" first > "$of"
  fi
  cat "$of"
}

# has_sum N COMMAND...: COMMAND prints the sum of the first N bytes.
has_sum () {
  wanted=$(first $1)
  shift
  prints_sum $wanted "$@"
}
from_stdin () { blksum "$@" < raw; }
from_pipe () { cat raw | blksum "$@"; }

# Sizes in data, in zeros, in a hole, and where they begin and end; one byte
# before the end of a block, and after it.
some="0 1 511 512 513 65535 65536 65537 199999 200000 300000 327681 983040"
some="$some 1000002 1000003 1000004 1234567 2300003 4194304 5242881 5246976"
some="$some 8388000 8388607 $size"
few="0 1 513 65537 300000 1000004 5242881 8388607 $size"
"$PYTHON" - $some << 'END'
import sys
import reference
raw = open("raw", "rb").read()
for n in sys.argv[1:]:
    print(reference.blkhash(raw[:int(n)]), file=open("sums/" + n, "w"))
END
for n in $some; do
  every 1 3 || continue
  has_sum $n blksum --size $n raw
  has_sum $n from_stdin --size $n
  has_sum $n from_pipe --size $n
done
more="1 65537 1000004 8388607"
for n in $more; do
  for options in "-t 1" "-t 7" --cache --no-extents "-f raw" -U; do
    has_sum $n blksum --size=$n $options raw
  done
  for options in "-b 4" "-b 512" "-b 16m" "-b 4k -d md5"; do
    is_long || [ $n$options != "8388607-b 4" ] || continue  # takes seconds
    prints_sum $(first $n $options) blksum --size $n $options raw
  done
  prints_sum $(first $n -s 64) blksum --size $n -d sha256/64k/s64 raw
done
has_sum 2097152 blksum --size 2m raw
has_sum 7168 blksum --size 7K raw
has_sum 7168 blksum --size 7KiB raw
has_sum 2097152 blksum --size 2MiB raw
for n in 1g 1GiB; do
  refuses "only $size bytes, fewer than the 1073741824" blksum --size $n raw
done
for n in 3t 3T 3TiB; do
  refuses "only $size bytes, fewer than the 3298534883328" blksum --size $n raw
done

# All beyond 4 GiB is a hole.
truncate -s 6g sparse
write_data sparse 0 70000
for n in 4294967296 5368709121; do
  truncate -s $n first
  write_data first 0 70000
  prints_sum $(reference first) blksum --size $n sparse
done
rm sparse first

# ---- The source is too short ----

too_small="raw: has only $size bytes, fewer than the"
for n in 8388609 10m 4611686018427387904 9223372036854775807 \
         9223372036854775808 18446744073709551614; do
  refuses "$too_small" blksum --size $n raw
  refuses "has only" from_stdin --size $n
  refuses "ended after $size bytes, fewer than" from_pipe --size $n
done
: > empty
prints_sum $(reference empty) blksum --size 0 empty
refuses "empty: has only 0 bytes" blksum --size 1 empty
for n in -1 1x "" 1.5 18446744073709551615 18446744073709551616 17179869184g; do
  refuses "--size" blksum --size "$n" raw
done

# Other operands are still hashed.
run 2 blksum --size 1000 empty raw
says_once "empty: has only 0 bytes"
head -c 1000 raw > first
[ "$(cat stdout)" = "$(reference first)  raw" ] ||
  fail "the next operand was not hashed"

# ---- Other output ----

run 0 blksum --size 1000004 --output=json raw
grep -q '"size":1000004,' stdout || fail "the size in JSON differs"
"$PYTHON" -c '
import json
sum = json.load(open("stdout"))
parts = sum["data-bytes"] + sum["zero-bytes"] + sum["hole-bytes"]
assert parts == sum["size"], sum' || fail "the parts do not add up to the size"
for command in "blksum raw" from_pipe; do
  run 0 $command --size 5242881 --progress=3 3> progress
  [ "$(tail -n 1 progress)" = 100/100 ] || fail "progress: $(tail -n 1 progress)"
  [ "$(wc -l < progress)" -gt 2 ] || fail "no progress: $(cat progress)"
done

# ---- Pipes ----

# Data after the image is left for the next reader, and blksum does not wait for
# it.
then_rest () { (blksum "$@" && cat > rest) < fifo; }
mkfifo fifo
for n in 0 1 65536 1000004 8388607 $size; do
  cat raw > fifo &
  has_sum $n then_rest --size $n
  tail -c +$((n + 1)) raw | cmp - rest || fail "the rest of the pipe differs"
done
twice () { cat raw | blksum "$@"; }
run 0 twice --size 4m - -
head -c 4m raw > first
tail -c 4m raw > second
printf '%s  -\n' $(reference first) $(reference second) | cmp -s - stdout ||
  fail "the sums of two images in one pipe differ"
run 0 from_stdin --size 4m - -
printf '%s  -\n' $(reference first) $(reference second) | cmp -s - stdout ||
  fail "the sums of two images in one file differ"

# The pipe stays open.
exec 5<> fifo
cat first > fifo &
prints_sum $(reference first) timeout $limit blksum --size 4m fifo
prints_sum $(reference empty) timeout $limit blksum --size 0 fifo
exec 5<&-
# The writer gets an error when blksum has read the image.
with_status () { (cat "$1"; echo $? > written) | blksum --size 1000; }
head -c 16m /dev/zero > long
head -c 1000 long > first
prints_sum $(reference first) with_status long
[ "$(cat written)" != 0 ] || fail "the writer got no error"
prints_sum $(reference first) blksum --size 1000 /dev/zero

# ---- Checks that use the whole file without --size ----

image_of_data () {
  rm -f image
  : > image
  write_data image 0 33554432
}
image_of_data
refuses "image: .*changed" midway "echo x >> image" --size 32m image
refuses "image: .*truncated" midway "truncate -s 16m image" --size 32m image
# The images of a list have that size.
head -c 1m raw > first
reference first > list.hex
echo "$(cat list.hex)  raw" > list
run 0 blksum --check --size 1m list
run 1 blksum --check --size 2m list
run 2 blksum --check --size 9m list
run 0 blksum --expect $(cat list.hex) --size 1m raw

requires_qemu
qemu-img convert -f raw -O qcow2 raw qcow2
qemu-img convert -f raw -O qcow2 -o cluster_size=512 raw small
qemu-img convert -f raw -O qcow2 -c raw compressed
qemu-img convert -f raw -O vmdk raw vmdk
qemu-img convert -f raw -O vhdx raw vhdx
for n in $some; do
  every 1 3 || continue
  has_sum $n blksum --size $n qcow2
done
for n in $few; do
  for image in small compressed vmdk vhdx; do
    every 1 3 || continue
    has_sum $n blksum --size $n $image
  done
  BLKSUM_DIRECT=0 has_sum $n blksum --size $n qcow2
done
for n in $more; do
  has_sum $n blksum --no-extents --size $n qcow2
  prints_sum $(first $n -b 512) blksum -b 512 --size $n qcow2
  prints_sum $(first $n -b 16m) blksum -b 16m --size $n vmdk
done
for image in qcow2 compressed vmdk; do
  refuses "$image: has only $size bytes" blksum --size 8388609 $image
  refuses "$image: has only $size bytes" blksum --size 9223372036854775808 $image
done
# The file is truncated after the image.
cp qcow2 cut
truncate -s -64k cut
refuses "cut: " blksum --size 64k cut
BLKSUM_DIRECT=0 refuses "cut: " blksum --size 64k cut
image_of_data
qemu-img convert -f raw -O qcow2 image other
refuses "other: .*changed" midway "touch other" --size 32m other

# ---- NBD ----

requires_nbdkit file --filter=log --filter=blocksize-policy --filter=noextents
start_nbdkit file raw
for n in $few; do
  has_sum $n blksum --size $n "$uri"
done
for options in "-b 4k" "-b 16m"; do
  prints_sum $(first 1000004 $options) blksum $options --size 1000004 "$uri"
done
for n in 8388609 9223372036854775808; do
  refuses "has only $size bytes" blksum --size $n "$uri"
done

# asked_up_to N UNIT: in the log, N is the end of the last request.
asked_up_to () {
  "$PYTHON" - $1 $2 << 'END'
import re, sys
size, unit = map(int, sys.argv[1:])
asked = re.findall(r" (Read|Extents) .*offset=(0x\w+) count=(0x\w+)",
                   open("log").read())
end = max(int(offset, 16) + int(count, 16) for _, offset, count in asked)
sys.exit(end != (size + unit - 1) // unit * unit and (end, asked))
END
}

# Requests are aligned as the server requires, and do not extend beyond the
# image otherwise.
for minimum in 1 512 65536; do
  start_nbdkit --filter=log --filter=blocksize-policy file raw \
               blocksize-minimum=$minimum blocksize-preferred=65536 \
               blocksize-maximum=1m blocksize-error-policy=error \
               logfile="$dir/log"
  for n in 513 65537 1000004; do
    for options in "" --no-extents "-t 1 --read-size 64k"; do
      : > log
      has_sum $n blksum $options --size $n "$uri"
      asked_up_to $n $minimum || fail "requests extend beyond the image"
    done
    prints_sum $(first $n -b 512) blksum -b 512 --size $n "$uri"
  done
done

# ---- Devices ----

requires_root
requires_program losetup
attach raw
for n in $few; do
  has_sum $n blksum --size $n $device
done
for n in $more; do
  has_sum $n blksum --cache --size $n $device
  has_sum $n blksum -t 1 --no-extents --size $n $device
done
refuses "$device: has only $size bytes" blksum --size 8388609 $device
attach qcow2
for n in $more; do
  has_sum $n blksum --size $n $device
  BLKSUM_DIRECT=0 has_sum $n blksum --size $n $device
done

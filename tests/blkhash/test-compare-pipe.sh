#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare accepts inputs that can only be read sequentially, and whose
# size is known only at the end: a pipe, or two pipes.

. "$(dirname "$0")/../functions.sh"
cd "$dir"
mkfifo fifo other-fifo

# from_pipe FILE ARGUMENT...: blkhash compare with FILE in a pipe on standard input.
from_pipe () {
  piped=$1
  shift
  cat "$piped" | blkhash compare "$@"
}

# from_fifo FILE ARGUMENT...: blkhash compare with FILE in the FIFO "fifo".
from_fifo () {
  cat "$1" > fifo &
  shift
  blkhash compare "$@"
}

# from_fifos A B ARGUMENT...: both in FIFOs.
from_fifos () {
  cat "$1" > fifo &
  cat "$2" > other-fifo &
  shift 2
  blkhash compare "$@"
}

# compares A B [OPTION]...: prints the differences that the reference finds.
compares () {
  a=$1 b=$2
  shift 2
  refcompare "$@" "$a" "$b"
  differ_so "$a" "$b" "$@"
}

# differ_so A B [OPTION]...: prints $json, with $status.  A is in a pipe or a FIFO by turns,
# and so is B in some turns.
turn=0
differ_so () {
  a=$1 b=$2
  shift 2
  turn=$((turn + 1))
  case $((turn % 4)),$b in
    0,*) set -- from_pipe "$a" - "$b" "$@" ;;
    1,*) set -- from_pipe "$a" "$b" - "$@" ;;
    2,* | 3,manifest:*) set -- from_fifo "$a" fifo "$b" "$@" ;;
    3,*) set -- from_fifos "$a" "$b" fifo other-fifo "$@" ;;
  esac
  run $status "$@" --output=json
  found_so
  run $status "$@" -q
  [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
}

make_image a
for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size a > image
  blksum --manifest image.blkm image > tmp/sum
  compares image image
  differ_so image manifest:image.blkm
  for more in 1 70000; do
    every 1 3 || continue
    # Zeros beyond the end are equal, except with --strict.
    cp image longer
    truncate -s $((size + more)) longer
    blksum --manifest longer.blkm longer > tmp/sum
    compares image longer
    differ_so longer image
    differ_so image manifest:longer.blkm
    run 1 from_pipe image --strict - longer
    [ "$(cat stdout)" = \
      "The sizes differ: $size and $((size + more)) bytes." ] ||
      fail "the result of --strict differs"
    run 0 from_pipe image --strict - manifest:image.blkm

    printf x | dd of=longer bs=1 seek=$((size + more - 1)) conv=notrunc \
      status=none
    blksum --manifest longer.blkm longer > tmp/sum
    compares image longer
    differ_so longer image
    differ_so image manifest:longer.blkm
  done
done

# For its last block a manifest has only a digest.  That is enough if the pipe
# ends there too, or before.
head -c 70000 a > image
blksum --manifest image.blkm image > tmp/sum
for size in 65536 66000 69999 70000; do
  head -c $size a > shorter
  compares shorter manifest:image.blkm
done
printf x | dd of=shorter bs=1 seek=69999 conv=notrunc status=none
compares shorter manifest:image.blkm
for size in 70001 131072 300000; do
  cp image longer
  truncate -s $size longer
  for order in "- manifest:image.blkm" "manifest:image.blkm -"; do
    refuses "cannot decide" from_pipe longer $order
    run 2 from_pipe longer -q $order
  done
done
truncate -s 70000 zero
blksum --manifest zero.blkm zero > tmp/sum
truncate -s 300000 zeros
compares zeros manifest:zero.blkm
compares longer manifest:zero.blkm

# Other digests, block sizes and numbers of threads.
cp a b
write_data b 3000000 200000
printf x | dd of=b bs=1 seek=8388607 conv=notrunc status=none
compares a b
compares a b -d md5/4k
compares a b -d sha512/4m
blksum --manifest b.blkm b > tmp/sum
compares a manifest:b.blkm
run 1 from_pipe a -t 1 --no-extents - b
run 1 from_pipe a -t 7 - b

# More data than the buffers of all threads, with either input waiting; 3 GiB in
# the long form.
scale=1
! is_long || scale=16
at=$((scale * 187500000))
truncate -s $((scale * 192))m large
write_data large $((scale * 125000000)) 50000000
cp --sparse=always large larger
printf x | dd of=larger bs=1 seek=$at conv=notrunc status=none
run 1 from_pipe large --output=json - larger
start=$((at / 65536 * 65536))
grep -q "^{\"ranges\":\[{\"start\":$start,\"length\":65536,[^{]*}\]," stdout ||
  fail "the difference is at another offset"

# Two inputs from one pipe would each get a part of it.
for operands in "- -" "- manifest:-"; do
  refuses "standard input cannot be both" from_pipe a $operands
done
[ ! -e /dev/stdin ] ||
  refuses "a pipe cannot be both" from_pipe a - /dev/stdin
both_from_fifo () {
  (cat a; cat a) > fifo &
  blkhash compare fifo fifo
}
refuses "a pipe cannot be both" both_from_fifo

# With -q it ends although the writer continues, or stalls.
cp a c
printf x | dd of=c bs=1 seek=8388607 conv=notrunc status=none
(cat a || :; cat other-fifo) > fifo &
run 1 timeout $limit blkhash compare -q -t 8 fifo c
: > other-fifo
cat a /dev/zero > fifo 2> tmp/cat &
run 1 timeout $limit blkhash compare -q -t 8 fifo c

# -q finds the first difference although one input continues with zeros forever.
printf x > x
run 1 timeout $limit blkhash compare -q /dev/zero x
run 1 timeout $limit blkhash compare -q x /dev/zero

# One input fails while the other waits for a stalled writer.
if [ -e /proc/self/mem ]; then
  # shellcheck disable=SC2016 # expanded there
  sh -c 'exec > fifo; while [ -d "$1" ]; do sleep 0.2; done' sh "$dir" &
  refuses "/proc/self/mem: cannot read" \
          timeout $limit blkhash compare fifo /proc/self/mem
fi

# Progress is computed as if the pipe had the size of the other image.
run 0 sh -c 'cat a | blkhash compare --progress=3 - a 3> progress'
[ "$(head -n 1 progress)" = 0/100 ] && [ "$(tail -n 1 progress)" = 100/100 ] ||
  fail "progress: $(cat progress)"

# Pipes between programs.
requires_qemu
qemu-img convert -f raw -O qcow2 b b.qcow2
for direct in 0 1; do
  export BLKSUM_DIRECT=$direct
  refcompare a b
  run 1 from_pipe a --output=json - b.qcow2
  found_so
  run 0 from_pipe b - b.qcow2
  run 1 sh -c 'blksum --manifest - a |
               blkhash compare --progress=3 --output=json manifest:- b.qcow2 \
                 3> progress'
  found_so
  [ "$(tail -n 1 progress)" = 100/100 ] || fail "progress: $(cat progress)"
done
requires_nbdkit file
requires_program nbdcopy
start_nbdkit file b
run 0 sh -c 'nbdcopy "$1" - | blkhash compare - b.qcow2' sh "$uri"
run 1 sh -c 'nbdcopy "$1" - | blkhash compare - a' sh "$uri"

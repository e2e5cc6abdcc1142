#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare --size compares the first bytes of two disks, of any format,
# and reports how many bytes after them were not read.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

# compares SIZE A B [OPTION]...: finds the differences of the reference, in both
# directions, and with -q prints nothing; in the short form -q in one direction
# only.  Options in $also are for blksum only.
also=
compares () {
  size=$1 a=$2 b=$3
  shift 3
  refcompare --size $size "$@" $a $b
  for order in "$a $b" "$b $a"; do
    run $status blkhash compare --size $size --output=json $also "$@" $order
    found_so
    is_long || [ "$order" = "$a $b" ] || continue
    run $status blkhash compare -q --size $size $also "$@" $order
    [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
  done
}

# reports LINES SIZE A B [OPTION]...: no difference, and LINES about trailing
# data.
reports () {
  lines=$1 size=$2 a=$3 b=$4
  shift 4
  run 0 blkhash compare --size $size "$@" "$a" "$b"
  [ ! -s stderr ] || fail "unexpected message"
  printf '%s\n' "The first $size bytes are identical." ${lines:+"$lines"} \
    > expected
  cmp expected stdout || fail "expected '$lines'"
}

make_image a
cp a b
write_data b 3000000 200000             # where it was zero
printf x | dd of=b bs=1 seek=8000000 conv=notrunc status=none
for image in a b; do
  blksum --manifest $image.blkm $image > tmp/sum
done

# ---- Only the first bytes are compared ----

for size in 0 1 70000 2949120 2999999 3000000 3000001 3014656 4000000 8388608; do
  every 1 2 || continue
  compares $size a b
  compares $size a b -d md5/4k
  also="-t 1 --no-extents -d sha256/64k/s4"
  compares $size a b
  also=
  # A manifest can be cut at the end of a block.
  for pair in "a manifest:b.blkm" "manifest:a.blkm b" \
              "manifest:a.blkm manifest:b.blkm"; do
    if [ $((size % 65536)) = 0 ]; then
      compares $size $pair
    else
      refuses "manifest:.*: .*--size ends within one" \
              blkhash compare --size $size $pair
    fi
  done
done
# An image of exactly that size, which is not a multiple of the block size.
head -c 3000001 b > short
blksum --manifest short.blkm short > tmp/sum
for pair in "a manifest:short.blkm" "b manifest:short.blkm" "a short" "b short"
do
  compares 3000001 $pair
done

# Without --size all is compared; data beyond the shorter image is not zero.
run 1 blkhash compare b short
run 0 blkhash compare --size 3000001 b short
run 0 blkhash compare --size 3000001 --strict b short
run 1 blkhash compare --size 3000002 b a

# ---- Trailing data ----

unread="bytes after the image were not read"
: > image
write_data image 0 1000004
cp image zeros
truncate -s 5000000 zeros
cp zeros one
write_data one 4000001 1
reports "" 1000004 image image
reports "zeros: 3999996 $unread" 1000004 zeros image
reports "zeros: 3999996 $unread
one: 3999996 $unread" 1000004 zeros one
reports "one: 4000000 $unread
image: 4 $unread" 1000000 one image
for name in image zeros one; do
  blksum --manifest $name.blkm $name > tmp/sum
done
cp image blocks
truncate -s 1048576 blocks
reports "manifest:zeros.blkm: 3951424 $unread" \
      1048576 blocks manifest:zeros.blkm
reports "manifest:zeros.blkm: 3951424 $unread
manifest:one.blkm: 3951424 $unread" \
      1048576 manifest:zeros.blkm manifest:one.blkm
reports "" 1000004 manifest:image.blkm image
reports "one: 3999996 $unread" 1000004 manifest:image.blkm one

# It is reported for images that differ, too, and not in JSON.
cp one other
write_data other 100 1
run 1 blkhash compare --size 1000004 image other
printf '%s\n' "65536 bytes at 0 differ" "other: 3999996 $unread" |
  cmp - stdout || fail "the output for images that differ"
run 0 blkhash compare --output=json --size 1000004 image one
echo '{"ranges":[],"images":[{"name":"image","size":1000004},{"name":"one","size":1000004}],"compared-bytes":1000004,"result":"ok"}' |
  cmp - stdout || fail "other JSON"

# A newline in a name does not make another line.
newline=$(printf 'a\nb')
cp zeros "$newline"
reports "\\a\\nb: 3999996 $unread" 1000004 image "$newline"

# ---- Standard input ----

from_pipe () { cat zeros | blkhash compare "$@"; }
from_file () { blkhash compare "$@" < zeros; }
run 0 from_pipe --size 1000004 - image
printf '%s\n' "The first 1000004 bytes are identical." \
  "-: any $unread" | cmp - stdout || fail "the output for a pipe"
run 0 from_pipe --size 5000000 - zeros
run 1 from_pipe --size 5000000 - one
run 0 from_file --size 1000004 image -
grep -qx -e "-: 3999996 $unread" stdout ||
  fail "the output for a file on standard input"
refuses "-: ended after 5000000 bytes, fewer than" \
        from_pipe --size 5000001 - a
run 0 from_pipe - zeros
for both in "- -" "manifest:- -" "- manifest:-" "manifest:- manifest:-"; do
  for from in from_pipe from_file; do
    refuses "-: standard input cannot be both" \
            $from --size 1000004 $both
  done
done

# ---- Errors ----

# An image that is shorter than SIZE; it is opened and closed once.
for order in "image one" "one image"; do
  refuses "image: has only 1000004 bytes, fewer than the 4000000" \
          blkhash compare --size 4000000 $order
done
refuses "manifest:image.blkm: has only 1000004 bytes, fewer than" \
        blkhash compare --size 4000000 one manifest:image.blkm
# A manifest is read to its end, and its sum is verified.
size=$(stat -c %s one.blkm)
head -c $((size - 1)) one.blkm > cut.blkm
refuses "manifest:cut.blkm: the manifest is cut off" \
        blkhash compare --size 65536 manifest:cut.blkm one
corpus=$abs_top_srcdir/tests/fuzz/manifest
for other in flat wrong-sum; do
  refuses "wrong-sum.blkm: the sum is not that of the leaves" blkhash compare \
    --size 0 "manifest:$corpus/wrong-sum.blkm" "manifest:$corpus/$other.blkm"
done

# SIZE is 0.
: > empty
run 0 blkhash compare --size 0 empty a
[ "$(cat "$dir/stdout")" = "The first 0 bytes are identical.
a: 8388608 $unread" ] ||
  fail "the output for an empty file"
run 0 blkhash compare --size 0 empty empty
[ "$(cat "$dir/stdout")" = "The first 0 bytes are identical." ] ||
  fail "the output for two empty files"

if grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" &&
   command -v nbdkit > "$dir/stdout" &&
   nbdkit eval --version > "$dir/stdout" 2>&1
then
  # Reads beyond the first 2 MiB fail: there are none.
  start_nbdkit eval get_size='echo 5000000' pread="
if [ \$4 -ge 2097152 ]; then echo EIO broken >&2; exit 1; fi
head -c \$((\$4 + \$3)) '$dir/zeros' | tail -c \$3"
  reports "$uri: 3999996 $unread" 1000004 image "$uri"
  reports "$uri: 3999996 $unread" 1000004 manifest:image.blkm "$uri"
  run 2 blkhash compare image "$uri"
  says_once "$uri: cannot read at offset"
  echo "The sizes differ: 1000004 and 5000000 bytes." | cmp - stdout ||
    fail "the sizes were not printed first"
  # Where the same size is needed nothing is read.
  start_nbdkit eval get_size='echo 1000005' pread='echo EIO broken >&2; exit 1'
  remedy="; --size 1000004 reads only these"
  for pair in "image $uri" "$uri image" "manifest:image.blkm $uri"; do
    message="$uri: has 1000005 bytes, ${pair% *} 1000004$remedy$"
    # A copy that is shorter may be cut off: no advice to ignore that.
    [ "$pair" != "$uri image" ] ||
      message="image: has 1000004 bytes, $uri 1000005$"
    run 1 blkhash compare --strict $pair
    says_once "$message"
    run 1 blkhash compare --strict --output=mapfile $pair
    says_once "$message"
    ! grep -q '?' stdout || fail "the mapfile is complete: $pair"
    run 1 blkhash compare --strict --output=json $pair
    says_once "$message"
    grep -q '^{"ranges":\[\],.*,"compared-bytes":0,"result":"differs"}$' stdout ||
      fail "the JSON is of a comparison: $pair"
    run 1 blkhash compare --strict -q $pair
    [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
    run 2 blkhash compare --part 0/2 -q $pair
    says_once ": has [0-9]* bytes, .* [0-9]*"
  done
  run 1 blksum --expect manifest:image.blkm "$uri"
  echo "$uri: FAILED" | cmp - stdout || fail "not FAILED"
  says_once "$uri: has 1000005 bytes, manifest:image.blkm 1000004$remedy$"
  run 1 blksum --status --expect manifest:image.blkm "$uri"
  [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
  run 1 blksum --expect manifest:zeros.blkm "$uri"
  says_once "$uri: has 1000005 bytes, manifest:zeros.blkm 5000000$"
fi

requires_qemu
for format in qcow2 vmdk; do
  for name in a b; do
    qemu-img convert -f raw -O $format $name $name.$format
  done
  for direct in 0 1; do
    BLKSUM_DIRECT=$direct run 0 blkhash compare --size 2999999 a b.$format
    BLKSUM_DIRECT=$direct run 1 blkhash compare --size 3000001 a b.$format
    BLKSUM_DIRECT=$direct run 0 blkhash compare --size 70000 a.$format \
                                b.$format
    [ "$(tail -n 2 stdout)" = "a.$format: 8318608 $unread
b.$format: 8318608 $unread" ] || fail "the output for $format"
  done
done

requires_root
requires_program losetup
attach zeros
size=$(blockdev --getsize64 "$device" 2> tmp/log || echo 4999680)
reports "$device: $((size - 1000004)) $unread" 1000004 image "$device"

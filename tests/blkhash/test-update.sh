#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash update reads the changed ranges, and writes the same manifest as for
# the whole image.  The audit detects changes that the list does not contain.

. "$(dirname "$0")/../functions.sh"

# change IMAGE OFFSET...: changes a byte, and adds it to $dir/changes.
change () {
  changed=$1
  shift
  for at; do
    printf x | dd of="$changed" bs=1 seek=$at conv=notrunc status=none
    set -- "$@" $at 1
    shift
  done
  list_changes $(stat -c %s "$changed") "$@" > "$dir/changes"
}

# updates ARGUMENT...: updates $dir/old to the manifest of a whole run of
# $image.  Sets $was_read.
updates () {
  rm -f "$dir/new"
  run 0 blkhash update --output=json --manifest "$dir/new" \
    --changed "$dir/changes" "$@" "$dir/old" "$image"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  cmp "$dir/new" "$dir/expected" || fail "the manifest differs"
  grep -q "\"sum\":\"blk-[^\"]*:$sum\"" "$dir/stdout" || fail "expected $sum"
  was_read=$(sed 's/.*"read-bytes":\([0-9]*\).*/\1/' "$dir/stdout")
  for key in data zero hole; do
    sed "s/.*\"$key-bytes\":\([0-9]*\).*/\1/" "$dir/stdout"
  done | "$PYTHON" -c 'import sys; print(sum(map(int, sys.stdin)))' > "$dir/all"
  [ "$(cat "$dir/all")" = "$size" ] ||
    fail "the parts do not add up to the size"
}

image=$dir/image
size=134217728
truncate -s $size "$image"
write_data "$image" 0 30000000
write_zeros "$image" 40000000 10000000
write_data "$image" 100000000 10000000

for spec in sha256/64k sha256/4k sha512/1m sha256/512/linear; do
  blksum -d $spec --manifest "$dir/old" "$image" > /dev/null
  change "$image" 0 20000000 45000000 70000000 $((size - 1))
  sum=$(reference $(of_spec $spec) "$image")
  blksum -d $spec --manifest "$dir/expected" "$image" > /dev/null
  updates
  updates --audit 0%
  [ "$was_read" -le 5300000 ] || fail "$was_read bytes were read"
  updates --audit 100% -t 3
  updates --no-extents --audit 12.345%
  # The new manifest replaces the old one.
  cp "$dir/old" "$dir/copy"
  prints_sum "$sum" blkhash update "manifest:$dir/old" --changed "$dir/changes" \
    --manifest "$dir/old" "$image"
  cmp "$dir/old" "$dir/expected" || fail "the old manifest was not replaced"
  # All through pipes, except the image.
  blkhash update - --changed "$dir/changes" --manifest - "$image" \
    < "$dir/copy" | cmp - "$dir/expected" ||
      fail "the manifest from a pipe differs"
  blkhash update "$dir/copy" --changed - --manifest - "$image" \
    < "$dir/changes" | cmp - "$dir/expected" ||
      fail "the manifest from a pipe differs"
  blkhash update "$dir/copy" --changed "$dir/changes" --manifest - - \
    < "$image" | cmp - "$dir/expected" ||
      fail "the manifest from a pipe differs"
done

# Nothing has changed, or everything.
sum=$(reference "$image")
blksum --manifest "$dir/old" "$image" > /dev/null
cp "$dir/old" "$dir/expected"
list_changes $size > "$dir/changes"
updates
[ "$was_read" -le 4194304 ] || fail "$was_read bytes were read"
updates --audit 0%
[ "$was_read" = 0 ] || fail "$was_read bytes were read"
list_changes $size 0 $size > "$dir/changes"
updates
: > "$dir/empty"
blksum --manifest "$dir/empty.blkm" "$dir/empty" > /dev/null
echo "[]" > "$dir/none"
prints_sum "$(reference "$dir/empty")" \
           blkhash update --changed "$dir/none" --manifest "$dir/new" \
           "$dir/empty.blkm" "$dir/empty"
list_changes $size > "$dir/none"

# A block that changed is missing in the list.
cp "$image" "$dir/liar"
change "$dir/liar" 21000000
for options in "--audit 100%" "--audit 100% --no-extents"; do
  rm -f "$dir/new"
  run 1 blkhash update "$dir/old" --changed "$dir/none" $options \
    --manifest "$dir/new" "$dir/liar"
  says "liar: 65536 bytes at 20971520 differ from $dir/old; in no list of cha" \
       "liar: no manifest was written; hash the whole image, and do not trust"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  [ ! -e "$dir/new" ] || fail "made a manifest"
done
# Every range is printed: block 0, two blocks, the block after one in the list,
# and the last block.
for block in 0 321 322 323 2047; do
  printf x | dd of="$dir/liar" bs=1 seek=$((block * 65536 + 777)) \
    conv=notrunc status=none
done
cat > "$dir/one" << END
[{"offset": 0, "length": 21102592, "type": 0},
 {"offset": 21102592, "length": 65536, "type": 1},
 {"offset": 21168128, "length": $((size - 21168128)), "type": 0}]
END
run 1 blkhash update "$dir/old" --changed "$dir/one" --audit 100% \
  --manifest "$dir/new" "$dir/liar"
differ="differ from $dir/old; in no list of changes$"
says "liar: 65536 bytes at 0 $differ" "liar: 131072 bytes at 20971520 $differ" \
     "liar: 65536 bytes at 21168128 $differ" \
     "liar: 65536 bytes at 134152192 $differ" "liar: no manifest was written; "
[ ! -e "$dir/new" ] || fail "made a manifest"
# An old manifest that is wrong proves nothing.
head -c -10 "$dir/old" > "$dir/wrong"
tail -c 10 "$dir/old" | tr '\0-\377' '\1-\377\0' >> "$dir/wrong"
run 2 blkhash update "$dir/wrong" --changed "$dir/one" --audit 100% \
  --manifest "$dir/new" "$dir/liar"
grep -q 'blkhash: .*/wrong: ' "$dir/stderr" || fail "the old manifest is used"
# The audit reads all of a few blocks; holes become data, and data becomes
# holes.
list_changes 4194304 > "$dir/small.json"
for offset in 0 2000000 4194303; do
  truncate -s 4m "$dir/small"
  fallocate -p -o 0 -l 4194304 "$dir/small" || truncate -s 0 "$dir/small"
  truncate -s 4m "$dir/small"
  write_data "$dir/small" 3000000 1000000
  blksum --manifest "$dir/small.blkm" "$dir/small" > /dev/null
  printf x | dd of="$dir/small" bs=1 seek=$offset conv=notrunc status=none
  run 1 blkhash update "$dir/small.blkm" --changed "$dir/small.json" \
    --manifest "$dir/small.blkm" "$dir/small"
  says "small: 65536 bytes at $((offset / 65536 * 65536)) differ from" \
       "no manifest was written"
done
blksum --manifest "$dir/small.blkm" "$dir/small" > /dev/null
truncate -s 0 "$dir/small"
truncate -s 4m "$dir/small"
run 1 blkhash update "$dir/small.blkm" --changed "$dir/small.json" \
  --manifest "$dir/new" "$dir/small"

# Errors.
update () {
  blkhash update "$dir/old" --changed "$dir/changes" --manifest "$dir/new" "$@"
}
rm -f "$dir/new"
refuses "--changed RANGES or --bitmap NAME is missing" \
        blkhash update "$dir/old" --manifest "$dir/new" "$image"
refuses "--manifest NEW is missing" \
        blkhash update "$dir/old" --changed "$dir/changes" "$image"
refuses "is not a number" update --audit 101% "$image"
refuses "is not a number" update --audit 5 "$image"
refuses "is not a number" update --audit -1% "$image"
refuses "is not a number" update --audit .1% "$image"
refuses "is not a number" update --audit 1.% "$image"
refuses "is not a number" update --audit 1.1234567% "$image"
refuses "hash the whole image$" update "$dir/small"
truncate -s 200m "$dir/larger"
refuses "hash the whole image; --size is for an image on a larger disk" \
        update "$dir/larger"
refuses "hash the whole image" update --size 1m "$image"
refuses "this is a manifest, and an image is updated" update "manifest:$dir/old"
refuses "No such file" blkhash update "$dir/nothing" \
        --changed "$dir/changes" --manifest "$dir/new" "$image"
refuses "not a blkhash manifest" blkhash update "$image" \
        --changed "$dir/changes" --manifest "$dir/new" "$image"
refuses "No such file" blkhash update "$dir/old" \
        --changed "$dir/nothing" --manifest "$dir/new" "$image"
refuses "standard input can only be one" blkhash update - --changed - \
        --manifest "$dir/new" "$image"
refuses "standard input can only be one" blkhash update - \
        --changed "$dir/changes" --manifest "$dir/new" -
from_pipe () { cat "$image" | update -; }
refuses "a pipe can only be read as a whole" from_pipe
mkdir "$dir/parts"
blkhash parts --part 0/2 "$dir/small" "$dir/parts"
refuses "manifest of a part" blkhash update "$dir"/parts/part-000000-* \
        --changed "$dir/none" --manifest "$dir/new" "$dir/small"
cp "$image" "$dir/copy"
refuses "exists, and is not a manifest" blkhash update "$dir/old" \
        --changed "$dir/changes" --manifest "$dir/copy" "$image"

# The digest "null" cannot show whether a block has changed: the list is
# trusted, and the audit detects nothing.
blksum -d null --manifest "$dir/null" "$dir/liar" > /dev/null
for options in "" "--audit 100%" "--audit 0%"; do
  refuses "null has only digests without a length, which cannot be audited" \
          blkhash update "$dir/null" --changed "$dir/none" $options \
          --manifest "$dir/new" "$dir/liar"
done

# An old manifest that is damaged, at its end or in a leaf, even if that leaf is
# not needed.
head -c -1 "$dir/old" > "$dir/cut"
refuses "cut off" blkhash update "$dir/cut" --audit 0% \
        --changed "$dir/none" --manifest "$dir/new" "$image"
for at in 600 2000; do
  cp "$dir/old" "$dir/cut"
  printf '\0\0\0' | dd of="$dir/cut" bs=1 seek=$at conv=notrunc status=none
  refuses "wrong CRC" blkhash update "$dir/cut" --audit 0% \
          --changed "$dir/none" --manifest "$dir/new" "$image"
  refuses "wrong CRC" blkhash update "$dir/cut" --audit 0% \
          --changed "$dir/changes" --manifest "$dir/new" "$image"
done
[ ! -e "$dir/new" ] || fail "made a manifest"

# Other formats, and an image in use.
requires_qemu
cp "$image" "$dir/before"
blksum --manifest "$dir/old" "$image" > /dev/null
qemu-img convert -f raw -O qcow2 "$image" "$dir/base"
qemu-img create -q -f qcow2 -b base -F qcow2 "$dir/top"
requires_program qemu-io
qemu-io -c "write -P 7 30000000 5000" -c "write -z 3145728 131072" "$dir/top" \
  > /dev/null
qemu-img convert -O raw "$dir/top" "$image"
list_changes $size 30000000 5000 3145728 131072 > "$dir/changes"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null
for direct in 1 0; do
  BLKSUM_DIRECT=$direct
  export BLKSUM_DIRECT
  image=$dir/top
  updates -f qcow2
  updates -f qcow2 -U
  updates -f qcow2 --audit 100%
done
unset BLKSUM_DIRECT

# Over NBD a changed range that one read covers is read without a query for its
# block status, which could go through gigabytes; a longer one is not.
grep -q '^#define HAVE_LIBNBD 1' "$abs_top_builddir/config.h" ||
  skip "built without libnbd"
requires_nbdkit file --filter=log
image=$dir/image
blksum --manifest "$dir/old" "$image" > /dev/null
change "$image" 20000000 70000000
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null
updates_over_nbd () {
  start_nbdkit --filter=log file "$dir/image" logfile="$dir/log"
  rm -f "$dir/new"
  run 0 blkhash update "$dir/old" --changed "$dir/changes" --audit 0% \
      --manifest "$dir/new" "$uri"
  cmp "$dir/new" "$dir/expected" || fail "the manifest differs"
  queries=$(grep -c ' Extents id=' "$dir/log") || :
}
updates_over_nbd
[ "$queries" = 0 ] || fail "$queries queries for two blocks"
list_changes $size 0 $size > "$dir/changes"
updates_over_nbd
[ "$queries" != 0 ] || fail "no query for the whole disk"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/python/judge.py prints the ranges that changed between two manifests,
# and are not in the list of a change tracker.  A list that can be another one, or
# incomplete, and manifests that leave it open, have the exit status 2.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
requires_qemu
requires_program qemu-io nbdinfo

judge () {
  $python "$abs_top_srcdir/examples/python/judge.py" \
    "$dir/old.blkm" "$dir/new.blkm" "$dir/changes"
}

# judges STATUS [LINE]...: what the example prints about the list "changes".
judges () {
  wanted=$1
  shift
  run "$wanted" judge
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  for line; do
    echo "$line"
  done | cmp - "$dir/stdout" || fail "expected: $*"
}

# refuses_list REGEX
refuses_list () {
  run 2 judge
  [ ! -s "$dir/stdout" ] || fail "printed a range"
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line on stderr"
  grep -q "^judge.py: .*$1" "$dir/stderr" || fail "does not say '$1'"
}

# map [OFFSET LENGTH TYPE]...: a list of nbdinfo.
map () {
  separator=[
  while [ $# -gt 0 ]; do
    name=clean
    [ "$3" = 0 ] || name=dirty
    printf '%s{"offset":%d,"length":%d,"type":%d,"description":"%s"}\n' \
      $separator "$1" "$2" "$3" $name
    separator=,
    shift 3
  done
  echo ]
}

make_image "$dir/old"
cp "$dir/old" "$dir/new"
write_data "$dir/new" 200000 100        # block 3
write_data "$dir/new" 1048576 131072    # blocks 16 and 17
write_data "$dir/new" 8388607 1         # block 127, the last one
for name in old new; do
  blksum --manifest "$dir/$name.blkm" "$dir/$name" > "$dir/$name.sum"
done
differ_3='65536 bytes at 196608 differ; in no list of changes'
differ_127='65536 bytes at 8323072 differ; in no list of changes'

run 1 blkhash compare --output=json "$dir/old" "$dir/new"
cp "$dir/stdout" "$dir/changes"
judges 0
list_changes 8388608 > "$dir/changes"
judges 1 "$differ_3" '131072 bytes at 1048576 differ; in no list of changes' \
  "$differ_127"
# Blocks that a range touches; ranges that overlap, in any order; superfluous ones.
list_changes 8388608 1114111 2 262143 1 0 10 0 70000 > "$dir/changes"
judges 1 "$differ_127"
list_changes 8388608 8388607 1 1100000 3 > "$dir/changes"
judges 1 "$differ_3" '65536 bytes at 1114112 differ; in no list of changes'
list_changes 8388608 1114112 1 196607 1 8323071 1 > "$dir/changes"
judges 1 "$differ_3" '65536 bytes at 1048576 differ; in no list of changes' \
  "$differ_127"
map 0 8388608 1 > "$dir/changes"
judges 0
map 0 8323072 1 8323072 65536 0 > "$dir/changes"
judges 1 "$differ_127"

head -c 90 "$dir/changes" > "$dir/cut" && mv "$dir/cut" "$dir/changes"
refuses_list "$dir/changes: "
map 0 8323072 1 > "$dir/changes"
refuses_list 'ends at 8323072, and the disk at 8388608'
map 0 65536 1 65537 8323071 1 > "$dir/changes"
refuses_list 'no range that begins at 65536'
map 0 65536 1 65536 0 0 65536 8323072 1 > "$dir/changes"
refuses_list 'no range that begins at 65536'
map 0 8388608 1 | sed 's/dirty/hole/' > "$dir/changes"
refuses_list 'not of a dirty bitmap'
echo '[{"start": 0, "length": 8388608, "depth": 0, "data": false}]' \
  > "$dir/changes"
refuses_list "a range without the number 'offset'"
list_changes 8388607 > "$dir/changes"
refuses_list 'not a comparison of 8388608 bytes'
list_changes 8388608 8388607 2 > "$dir/changes"
refuses_list 'a wrong range at 8388607'
list_changes 8388608 0 0 > "$dir/changes"
refuses_list 'a wrong range at 0'
echo '{"ranges":[],"compared-bytes":8388608,"result":"differs"}' > "$dir/changes"
refuses_list 'not a comparison that has ended'
echo '"none"' > "$dir/changes"
refuses_list 'not a list of changes'
rm "$dir/changes"
refuses_list 'No such file'

# A manifest that is damaged, of other blocks, or of a part.
list_changes 8388608 0 8388608 > "$dir/changes"
cp "$dir/new.blkm" "$dir/good"
printf X | dd of="$dir/new.blkm" bs=1 seek=600 conv=notrunc status=none
refuses_list new.blkm
rm "$dir/new.blkm"
blksum -d sha256/4k --manifest "$dir/new.blkm" "$dir/new" > "$dir/new.sum"
refuses_list .
cp "$dir/good" "$dir/new.blkm"
judges 0

# A disk that grew.  If its last block was short, and has data before and after,
# the digests of the two say nothing.
write_data "$dir/new" 7995392 60000     # block 122
rm "$dir/new.blkm"
blksum --manifest "$dir/new.blkm" "$dir/new" > "$dir/new.sum"
head -c 7995392 "$dir/new" > "$dir/old"
blksum --manifest "$dir/old.blkm" "$dir/old" > "$dir/old.sum"
list_changes 8388608 7995392 393216 > "$dir/changes"
judges 0
list_changes 8388608 7995392 60000 > "$dir/changes"
judges 1 "$differ_127"
list_changes 7995392 > "$dir/changes"
refuses_list 'not a comparison of 8388608 bytes'
head -c 8000000 "$dir/new" > "$dir/old"
blksum --manifest "$dir/old.blkm" "$dir/old" > "$dir/old.sum"
list_changes 8388608 > "$dir/changes"
run 2 judge
[ "$(cat "$dir/stdout")" = "$differ_127" ] || fail "did not print $differ_127"
grep -q 'do not show whether they differ' "$dir/stderr" || fail "no reason"

# What is no list; and the manifest of a part.
printf '[%.0s' $(seq 3000) > "$dir/changes"
refuses_list 'not a list of changes\|Expecting value'
mkdir "$dir/parts"
blkhash parts --part 0/2 "$dir/new" "$dir/parts"
cp "$dir"/parts/part-* "$dir/old.blkm"
refuses_list 'that of a part of a disk'

# The dirty bitmap of qemu, and a write that it does not see.
qemu-img convert -f raw -O qcow2 "$dir/new" "$dir/disk.qcow2"
qemu-img bitmap --add "$dir/disk.qcow2" b
cp "$dir/new.blkm" "$dir/old.blkm"
qemu-io -c 'write -q -P 7 3M 70k' "$dir/disk.qcow2"
# after: judges 0 if the bitmap has all that was written.
after () {
  qemu-nbd -r -t --fork --pid-file="$dir/pid" -k "$dir/sock" -f qcow2 -B b \
    "$dir/disk.qcow2"
  kill_at_exit "$(cat "$dir/pid")"
  nbdinfo --json --map=qemu:dirty-bitmap:b "nbd+unix:///?socket=$dir/sock" \
    > "$dir/changes"
  kill "$(cat "$dir/pid")"
  wait_for_exit "$(cat "$dir/pid")"
  blksum --manifest "$dir/new.blkm" "$dir/disk.qcow2" > "$dir/new.sum"
}
after
judges 0
qemu-img bitmap --disable "$dir/disk.qcow2" b
qemu-io -c 'write -q -P 8 5M 1k' "$dir/disk.qcow2"
after
judges 1 '65536 bytes at 5242880 differ; in no list of changes'

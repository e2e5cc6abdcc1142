#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --manifest writes the manifest of an image, the same for all formats, and only
# if there is a sum.

. "$(dirname "$0")/../functions.sh"

# refmanifest OPTION... IMAGE > MANIFEST
refmanifest () {
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$@"
}

# writes SUM COMMAND...: COMMAND writes $dir/got, which equals $dir/expected.
writes () {
  rm -f "$dir/got"
  prints_sum "$@"
  cmp "$dir/expected" "$dir/got" || fail "the manifest differs: $*"
  [ "$(stat -c %a "$dir/got")" = 600 ] || fail "the mode is not 600: $*"
}
from_pipe () { cat "$image" | blksum "$@"; }

image=$dir/image
make_image "$image"
for spec in sha256/64k sha256/4k sha512/1m md5/512 sha256/64k/linear \
            sha256/64k/s64 blake2b512/64k; do
  refmanifest $(of_spec $spec) "$image" > "$dir/expected"
  sum=$(reference $(of_spec $spec) "$image")
  options="-d $spec"
  writes $sum blksum $options --manifest "$dir/got" "$image"
  writes $sum blksum $options -t 3 --no-extents --manifest="$dir/got" "$image"
  writes $sum from_pipe $options --manifest "$dir/got"
  blksum $options --manifest - "$image" > "$dir/got" ||
    fail "no manifest on stdout"
  cmp "$dir/expected" "$dir/got" || fail "the manifest on stdout differs"
  blksum $options --manifest - "$image" | cat > "$dir/got"
  cmp "$dir/expected" "$dir/got" || fail "the manifest in a pipe differs"
  from_pipe $options --manifest - | cat > "$dir/got"
  cmp "$dir/expected" "$dir/got" ||
    fail "the manifest from a pipe to a pipe differs"
done

for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size "$image" > "$dir/short"
  refmanifest "$dir/short" > "$dir/expected"
  writes "$(reference "$dir/short")" \
         blksum --manifest "$dir/got" "$dir/short"
done

# A file of 6 GiB with holes, in which one byte is changed.
truncate -s 6g "$dir/sparse"
for at in 0 1000000000 3000000001 6442400000; do
  write_data "$dir/sparse" $at 40000
done
refmanifest "$dir/sparse" > "$dir/expected"
writes "$(reference "$dir/sparse")" \
       blksum --manifest "$dir/got" "$dir/sparse"
printf x | dd of="$dir/sparse" bs=1 seek=4000000000 conv=notrunc status=none
blksum --manifest "$dir/changed" "$dir/sparse" > /dev/null
"$PYTHON" - "$dir/got" "$dir/changed" << 'END' ||
import sys
import refmanifest

def leaves(name):
    result = {}
    for first, count, data in refmanifest.read(open(name, "rb").read()).runs:
        if data:
            result.update(enumerate(data, first))
    return result

a, b = map(leaves, sys.argv[1:])
changed = {i for i in {*a, *b} if a.get(i) != b.get(i)}
assert changed == {4000000000 // 65536}, changed
END
  fail "the difference is in another block"

# Only manifests and empty files are replaced, atomically.
refmanifest "$image" > "$dir/expected"
sum=$(reference "$image")
blksum --manifest "$dir/got" "$dir/short" > /dev/null
ln "$dir/got" "$dir/before"
prints_sum $sum blksum --manifest "$dir/got" "$image"
cmp "$dir/expected" "$dir/got" || fail "it was not replaced"
cmp -s "$dir/expected" "$dir/before" && fail "it was written in place"
: > "$dir/empty"
prints_sum $sum blksum --manifest "$dir/empty" "$image"
cmp "$dir/expected" "$dir/empty" || fail "the empty file was not replaced"
cp "$image" "$dir/copy"
refuses "copy exists, and is not a manifest" \
        blksum --manifest "$dir/copy" "$image"
refuses "copy exists, and is not a manifest" \
        sh -c 'blksum --manifest "$1" < /dev/null' sh "$dir/copy"
cmp "$image" "$dir/copy" || fail "an image was overwritten"
mkdir "$dir/directory"
refuses "not a regular file" blksum --manifest "$dir/directory" "$image"
mkfifo "$dir/fifo"
refuses "not a regular file" blksum --manifest "$dir/fifo" "$image"
refuses "No such file" blksum --manifest "$dir/none/got" "$image"
# Nothing is read for a name that leaves no room for that of the temporary file.
refuses "File name too long" blksum --progress=3 \
        --manifest "$dir/$(printf '%0250d' 0)" "$image" 3> "$dir/progress"
[ ! -s "$dir/progress" ] || fail "an image was read in vain"
# A symbolic link is kept.
ln -s got "$dir/link"
prints_sum "$(reference "$dir/short")" \
           blksum --manifest "$dir/link" "$dir/short"
[ -L "$dir/link" ] || fail "the link was replaced"
refmanifest "$dir/short" | cmp - "$dir/got" ||
  fail "the target of the link differs"
# So is one without a target, which is created.
mkdir "$dir/sub"
ln -s target "$dir/dangling"
ln -s ../target "$dir/sub/second"
ln -s sub/second "$dir/first"
ln -s "$dir/first" "$dir/absolute"
for link in dangling sub/second first absolute; do
  prints_sum "$(reference "$dir/short")" \
             blksum --manifest "$dir/$link" "$dir/short"
  [ -L "$dir/$link" ] || fail "the link was replaced"
  cmp "$dir/target" "$dir/got" || fail "the target was not made"
  rm "$dir/target"
done
ln -s none/target "$dir/nowhere"
refuses "cannot create .*none/target: No such file" \
        blksum --manifest "$dir/nowhere" "$dir/short"
ln -s loop "$dir/loop"
refuses "symbolic links" blksum --manifest "$dir/loop" "$dir/short"

# A reader of a pipe gets the header at once.
mkfifo "$dir/image-fifo" "$dir/gate"
write_data "$dir/data" 0 16000000
rm -f "$dir/got"
(cat "$dir/data" || :; cat "$dir/gate") > "$dir/image-fifo" &
blksum --size 16g --manifest - "$dir/image-fifo" > "$dir/got" \
  2> "$dir/stderr" &
wait_until test -s "$dir/got"
head -c 17 "$dir/got" | grep -q "blkhash-manifest " || fail "no header"
: > "$dir/gate"
wait $! || :

# If there is no sum, no file appears, and none is left.
mkdir "$dir/new"
cd "$dir/new"
refuses "No such file" blksum --manifest a "$dir/missing"
refuses "one image" blksum --manifest a "$image" "$image"
[ -z "$(ls)" ] || fail "left behind: $(ls)"
cp "$dir/expected" a
refuses "No such file" blksum --manifest a "$dir/missing"
cmp a "$dir/expected" || fail "the existing manifest was changed"
if [ -c /dev/full ]; then
  run 2 sh -c 'blksum --manifest - "$1" > /dev/full' sh "$image"
  says_once "cannot write the manifest: No space left"
  run 2 sh -c 'cat "$1" | blksum --manifest - > /dev/full' sh "$image"
  says_once "cannot write the manifest: No space left"
fi
# The image changes while it is read, or blksum is killed.
truncate -s 400m "$dir/large"
write_data "$dir/large" 0 30000000
cp a before
refuses "changed" midway "touch $dir/large" -t 1 --manifest a "$dir/large"
cmp a before || fail "the manifest was replaced after the image changed"
for signal in TERM KILL; do
  status=0
  midway "kill -$signal \$pid" -t 1 --manifest a "$dir/large" > "$dir/stdout" \
    2> "$dir/stderr" || status=$?
  [ $status != 0 ] || fail "not killed by $signal"
  cmp a before || fail "the manifest was replaced although killed by $signal"
done
ls | grep -v -x -e a -e before > "$dir/left" || :
if "$PYTHON" -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)'; then
  [ ! -s "$dir/left" ] || fail "left behind: $(cat "$dir/left")"
fi
rm -f before a.*
# A limit of file sizes simulates a full disk.
rm a
run 2 env GCOV_PREFIX=/dev/null sh -c 'trap "" XFSZ; ulimit -f 1
             exec blksum -b 512 --manifest a "$1"' \
    sh "$image"
says_once "cannot write a: File too large"
[ -z "$(ls)" ] || fail "left behind: $(ls)"

requires_qemu
refmanifest "$image" > "$dir/expected"
for format in qcow2 vmdk vdi; do
  qemu-img convert -f raw -O $format "$image" "$dir/other"
  writes $sum blksum --manifest "$dir/got" "$dir/other"
done
qemu-img convert -c -f raw -O qcow2 "$image" "$dir/other"
writes $sum blksum --manifest "$dir/got" "$dir/other"
requires_nbdkit file
start_nbdkit file "$image"
writes $sum blksum --manifest "$dir/got" "$uri"

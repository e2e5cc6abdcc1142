#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Files that --resume refuses are unchanged: an unfinished manifest with other
# options, a complete one, one in use, and other files.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"

image=$dir/image
make_large_image "$image"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null
resume () { blksum --resume --manifest "$dir/m" "$@"; }

# unchanged: neither file has changed.
unchanged () {
  cmp "$dir/m" "$dir/kept" || fail "the manifest changed"
  cmp "$dir/m.state" "$dir/kept.state" || fail "the state changed"
}

interrupt KILL "$image"
save_files
refuses "started with blk-sha256/64k, not blk-sha512/64k" \
        resume -d sha512 "$image"
unchanged
refuses "started with blk-sha256/64k, not blk-sha256/4k" \
        resume -b 4k "$image"
refuses "started with blk-sha256/64k, not blk-sha256/64k/linear" \
        resume --linear "$image"
refuses "started for 314572800 bytes, not 1048576" \
        resume --size 1m "$image"
refuses "No such file" resume "$dir/none"
unchanged

# A state of another version, or no state.
for change in "s/state 1/state 2/" "\$a future: yes" "/^journal/d" "/^f/d" \
              "s/^journal:.*/journal: /" \
              "1d" "s/^/x/"; do
  restore_files
  sed -i "$change" "$dir/m.state"
  refuses "is not a state file of this version" resume "$image"
  cmp "$dir/m" "$dir/kept" || fail "the manifest changed"
done
restore_files
printf '\0' >> "$dir/m.state"
refuses "is not a state file of this version" resume "$image"
rm "$dir/m.state"
mkdir "$dir/m.state"
refuses "is not a state file of this version" resume "$image"
rmdir "$dir/m.state"
# An incomplete last line is ignored.
restore_files
printf 'sum: 12' >> "$dir/m.state"
prints_sum "$sum" resume "$image"
is_complete

# A power failure can leave zeros in place of the header of a new journal.
truncate -s 512 "$dir/m"
prints_sum "$sum" resume "$image"
is_complete

# The manifest is in use: the other run continues.
restore_files
truncate -s 512 "$dir/m"
midway_on_disk "blksum --resume --manifest $dir/m $image \
  > $dir/second 2>&1 || echo status \$? >> $dir/second" \
  --resume --manifest "$dir/m" "$image" > "$dir/stdout" 2> "$dir/stderr" ||
  fail "the first run failed"
[ "$(cut -d' ' -f1 "$dir/stdout")" = "$sum" ] || fail "expected $sum"
is_complete
grep -q "another blksum is using .*/m$" "$dir/second" ||
  fail "no message that the manifest is in use"
grep -q "^status 2$" "$dir/second" || fail "the second run was not refused"

# The manifest is complete; also with a state of another manifest beside it.
for state in none other; do
  cp "$dir/expected" "$dir/m"
  rm -f "$dir/m.state"
  if [ $state = other ]; then
    cp "$dir/kept.state" "$dir/m.state"
    echo "sum: $(echo "$sum" | tr 0-9 1-90)" >> "$dir/m.state"
  fi
  refuses "m is complete: 'blksum manifest:$dir/m' prints its sum" \
          resume "$image"
  cmp "$dir/m" "$dir/expected" || fail "the manifest changed"
done
# The state has the sum of the manifest, but the image is another file.
echo "sum: $sum" >> "$dir/m.state"
cp "$image" "$dir/copy"
refuses "m is complete" resume "$dir/copy"
rm -f "$dir/m" "$dir/m.state"

# Files that are no manifest.
for not in "$dir/copy:exists, and is not a manifest" "$dir/tmp:not a regular file" \
           "$dir/none/m:No such file"; do
  refuses "${not#*:}" blksum --resume --manifest "${not%%:*}" "$image"
done
cmp "$image" "$dir/copy" || fail "an image was overwritten"
mkfifo "$dir/fifo"
refuses "not a regular file" blksum --resume --manifest "$dir/fifo" "$image"
mkdir "$dir/parts"
blksum --part 0/2 --manifest-dir "$dir/parts" "$image"
refuses "manifest of a part" \
        blksum --resume --manifest "$dir"/parts/part-000000-* "$image"
# The image itself, which is an unfinished manifest.
restore_files
refuses "cannot be both the image and its manifest" \
        blksum --resume --manifest "$dir/m" -f raw "$dir/m"
unchanged
rm -f "$dir/m" "$dir/m.state"

# Sources and options that cannot be resumed.
from_pipe () { cat "$image" | resume "$@"; }
mkfifo "$dir/image-fifo"
fifo () { cat "$image" > "$dir/image-fifo" & resume "$dir/image-fifo"; }
refuses "not for standard input" from_pipe
refuses "not for standard input" from_pipe -
refuses "a pipe can only be read as a whole" fifo
refuses "this is a manifest" resume "manifest:$dir/expected"
refuses "needs --manifest" blksum --resume "$image"
refuses "needs a file" blksum --resume --manifest - "$image"
refuses "needs --resume" blksum --assume-unchanged "$image"
refuses "one image" resume "$image" "$image"
for option in --check "--expect $sum" --compare "--part 0/1 --manifest-dir ." \
              --merge -U; do
  refuses "cannot be used with" resume $option "$image"
done
refuses "needs --check" resume --subset 0/2 "$image"
[ ! -e "$dir/m" ] && [ ! -e "$dir/m.state" ] || fail "left behind"

# A limit of file sizes simulates a full disk.  The partial manifest is still
# valid.
for limit_of_files in 1 4 8 100; do
  run 2 env GCOV_PREFIX=/dev/null sh -c 'trap "" XFSZ; ulimit -f $3
    exec blksum -b 4k --resume --manifest "$1" "$2"' sh "$dir/m" "$image" \
    $limit_of_files
  says_once "File too large"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
done
blksum -b 4k --manifest "$dir/expected" "$image" > "$dir/sum"
prints_sum "$(cut -d' ' -f1 "$dir/sum")" \
           blksum -b 4k --resume --manifest "$dir/m" "$image"
is_complete

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --resume continues a run that was ended by any cause: the sum and the manifest
# are those of an uninterrupted run.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/resume-functions.sh"

image=$dir/image
make_large_image "$image"
sum=$(reference "$image")
blksum --manifest "$dir/expected" "$image" > /dev/null

# In one uninterrupted run.
prints_sum "$sum" blksum --resume --manifest "$dir/m" "$image"
is_complete
run 0 blksum --output=json --resume --manifest "$dir/m" "$image"
is_complete
grep -q '"incremental":true,"read":[1-9]' "$dir/stdout" ||
  fail "the JSON differs"
# If holes cannot be queried, they are read too.
part=$(($(sed 's/.*"read":\([0-9]*\).*/\1/' "$dir/stdout") - 1))
much=$part
: > "$dir/m"
prints_sum "$sum" blksum --resume --manifest "$dir/m" "$image"
is_complete

# Interrupted and resumed; the unfinished file is not accepted as a manifest.
interrupt KILL "$image"
[ "$(stat -c %a "$dir/m")" = 600 ] || fail "the mode is not 600"
[ "$(stat -c %a "$dir/m.state")" = 600 ] || fail "the mode is not 600"
refuses "not finished" blksum "manifest:$dir/m"
refuses "not finished" blksum --expect "manifest:$dir/m" "$image"
resumes "$sum" "$image"

# A file that others can read is replaced, not written: they may have it open.
for mode in 644 620; do
  : > "$dir/m"
  chmod $mode "$dir/m"
  exec 7< "$dir/m"
  interrupt KILL "$image"
  [ "$(stat -c %a "$dir/m")" = 600 ] || fail "others can read an unfinished file"
  [ -z "$(cat <&7)" ] || fail "others can read what was written"
  exec 7<&-
  resumes "$sum" "$image"
done
# So is one of another user, and one that is started over.
if [ "$(id -u)" = 0 ]; then
  : > "$dir/m"
  chmod 600 "$dir/m"
  chown 1 "$dir/m"
  interrupt KILL "$image"
  [ "$(stat -c %u "$dir/m")" = 0 ] || fail "another user can read it"
  resumes "$sum" "$image"
fi
restore_files
chmod 644 "$dir/m"
rm "$dir/m.state"
interrupt KILL "$image"
[ "$(stat -c %a "$dir/m")" = 600 ] || fail "others can read a file started over"
resumes "$sum" "$image"

restore_files
prints_sum "$sum" blksum --resume --manifest "$dir/m" --audit 100% "$image"
is_complete
restore_files
resumes "$sum" -t 3 "$image"
restore_files
prints_sum "$sum" blksum --resume --manifest "$dir/m" --no-extents "$image"
is_complete

# On a signal that can be caught, a message has the command that resumes, quoted
# as the user typed it.
cd "$dir"
for signal in INT TERM HUP; do
  cp "$image" "it's image"
  interrupt $signal "it's image"
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line"
  sed -n 's/^blksum: to continue: //p' "$dir/stderr" > "$dir/command"
  grep -q -e " --resume --manifest $dir/m 'it'..'s image'$" "$dir/command" ||
    fail "the message does not have the command"
  sed -i 's/ --progress=[0-9]*//; s/^[^ ]*/blksum/' "$dir/command"
  prints_sum "$sum" sh "$dir/command"
  is_complete
done
cd - > /dev/null

# All blocks were hashed; the last step, publishing, did not run, or did not
# complete.
interrupt KILL "$image"
"$PYTHON" - "$abs_top_srcdir/tests" "$dir/m" "$dir/expected" << 'END'
import sys
sys.path.insert(0, sys.argv[1])
import refmanifest

# The header and all records: as left by a run that ended after it hashed the
# last block.
head = open(sys.argv[2], "rb").read(512)
whole = open(sys.argv[3], "rb").read()
open(sys.argv[2], "wb").write(head + whole[512:-56])
END
much=0
resumes "$sum" "$image"
restore_files
cp "$dir/expected" "$dir/m"
echo "sum: $sum" >> "$dir/m.state"
resumes "$sum" "$image"
much=$part

# The manifest was published, but the sum was not printed: standard output is
# full, or a pipe that has no room when blksum is killed.
full () { blksum --resume --manifest "$dir/m" "$image" > /dev/full; }
if [ -c /dev/full ]; then
  run 2 full
  says_once "write error: No space left"
  cmp "$dir/m" "$dir/expected" || fail "the manifest differs"
  run 0 blksum --output=json --resume --manifest "$dir/m" "$image"
  grep -q "\"checksum\":\"$sum\".*\"read\":0" "$dir/stdout" ||
    fail "expected $sum"
  is_complete
fi
mkfifo "$dir/held"
exec 8<> "$dir/held"
fill () {
  "$PYTHON" - "$dir/held" << 'END'
import os, sys
held = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
for size in 4096, 1:
    try:
        while True:
            os.write(held, b"x" * size)
    except BlockingIOError:
        pass
END
}
is_published () { cmp -s "$dir/m" "$dir/expected"; }
held () {
  fill
  blksum --resume --manifest "$dir/m" "$image" > "$dir/held" 8<&- &
  held=$!
  kill_at_exit $held
  wait_until is_published
}
held
kill -KILL $held
wait $held || :
much=0
resumes "$sum" "$image"
much=$part
# Before the sum is printed, another process removes the manifest and begins a
# new one, whose state must not be removed.
held
rm "$dir/m"
interrupt KILL "$image"
save_files
"$PYTHON" -c 'import os; [os.read(8, 65536) for i in range(2)]'
wait $held || fail "blksum did not end"
exec 8<&-
cmp "$dir/m.state" "$dir/kept.state" || fail "the state differs"
resumes "$sum" "$image"

# Other block sizes and digests.
for options in "-b 4k" "-b 1m -d sha512" "--linear -b 512" "-b 4m -d md5" \
               "--streams 64"; do
  blksum $options --manifest "$dir/expected" "$image" > "$dir/sum"
  interrupt KILL $options "$image"
  resumes "$(cut -d' ' -f1 "$dir/sum")" $options "$image"
done

# A part of the image.
blksum --size 250000000 --manifest "$dir/expected" "$image" > "$dir/sum"
interrupt KILL --size 250000000 "$image"
resumes "$(cut -d' ' -f1 "$dir/sum")" --size 250000000 "$image"

# An empty image, and images of one block.
for size in 0 1 65536 65537; do
  head -c $size "$image" > "$dir/short"
  blksum --manifest "$dir/expected" "$dir/short" > /dev/null
  prints_sum "$(reference "$dir/short")" \
             blksum --resume --manifest "$dir/m" "$dir/short"
  is_complete
done

# A symbolic link is kept.
blksum --manifest "$dir/expected" "$image" > /dev/null
ln -s m "$dir/link"
interrupt KILL "$image"
prints_sum "$sum" blksum --resume --manifest "$dir/link" "$image"
[ -L "$dir/link" ] || fail "the link was replaced"
is_complete
# A link without a target: both runs use the path that it points to.
ln -s m "$dir/dangling"
midway_on_disk "kill -KILL \$pid" --resume --manifest "$dir/dangling" \
  "$image" > "$dir/stdout" 2> "$dir/stderr" &&
  fail "the run was not interrupted"
[ -e "$dir/m.state" ] || fail "no state beside the target"
[ ! -e "$dir/dangling.state" ] || fail "a state beside the link"
save_files
resumes "$sum" "$image"
restore_files
run 0 blksum --resume --manifest "$dir/dangling" "$image"
[ ! -s "$dir/stderr" ] || fail "unexpected message"
[ -L "$dir/dangling" ] || fail "the link was replaced"
is_complete

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --compare --changed judges a list of changed ranges: what differs and is not
# in the list is printed, and the exit status is 1; ranges in which nothing
# differs are counted.  blksum-judge-random.py, which reads BLKHASH_SEED and
# BLKHASH_ROUNDS from the environment, compares random cases with brute force.

. "$(dirname "$0")/functions.sh"
cd "$dir"

# Four blocks differ: 1, 5 and 6, and the last one, which is short.
write_data before 0 700000
cp before after
for at in 65536 393215 393216 699999; do
  printf '\377' | dd of=after bs=1 seek=$at conv=notrunc status=none
done
cmp -s before after && fail "the images are the same"
blksum --manifest before.blkm before > stdout
blksum --manifest after.blkm after > stdout

# judges STATUS LIST LINE...: the output is these lines.
judges () {
  status=$1
  echo "$2" > list
  shift 2
  printf '%s\n' "$@" > expected
  for operands in "before after" "manifest:before.blkm after" \
                  "before manifest:after.blkm" \
                  "manifest:before.blkm manifest:after.blkm"; do
    run $status blksum --compare --changed list $operands
    diff -u expected stdout || fail "$operands: see above"
    [ ! -s stderr ] || fail "unexpected message"
  done
}

all='All that differs is in the list.'
judges 0 '[{"start": 65536, "length": 1}, {"start": 327680, "length": 65537},
           {"start": 655360, "length": 44640}]' \
  "$all" "Superfluous: 0 of 3 ranges, 0 bytes."
# A range that is in the block, but not where it differs.
judges 0 '[{"start": 131071, "length": 1}, {"start": 330000, "length": 100000},
           {"start": 655360, "length": 1}]' \
  "$all" "Superfluous: 0 of 3 ranges, 0 bytes."
judges 1 '[]' \
  "At 65536: 65536 bytes differ, and are not in the list." \
  "At 327680: 131072 bytes differ, and are not in the list." \
  "At 655360: 44640 bytes differ, and are not in the list." \
  "Superfluous: 0 of 0 ranges, 0 bytes."
judges 1 '[{"start": 0, "length": 65536}, {"start": 131072, "length": 196608},
           {"start": 393216, "length": 1},
           {"start": 524288, "length": 131072}]' \
  "At 65536: 65536 bytes differ, and are not in the list." \
  "At 327680: 65536 bytes differ, and are not in the list." \
  "At 655360: 44640 bytes differ, and are not in the list." \
  "Superfluous: 3 of 4 ranges, 393216 bytes."
judges 0 '[{"start": 0, "length": 700000}]' \
  "$all" "Superfluous: 0 of 1 ranges, 0 bytes."
# Adjacent rows of nbdinfo are one range.
judges 0 '[{"offset": 0, "length": 100, "type": 0},
           {"offset": 100, "length": 400000, "type": 1},
           {"offset": 400100, "length": 200000, "type": 3},
           {"offset": 600100, "length": 99900, "type": 1}]' \
  "$all" "Superfluous: 0 of 1 ranges, 0 bytes."

# JSON.
echo '[{"start": 0, "length": 1}, {"start": 65536, "length": 1}]' > list
run 1 blksum --compare --changed list --output=json before manifest:after.blkm
echo '{"size": 700000, "ranges": 2, "missed":' \
  '[{"start": 327680, "length": 131072}, {"start": 655360, "length": 44640}],' \
  '"superfluous": [{"start": 0, "length": 1}]}' > expected
diff -u expected stdout || fail "see above"
run 0 blksum --compare --changed list --output=json before before
echo '{"size": 700000, "ranges": 2, "missed": [],' \
  '"superfluous": [{"start": 0, "length": 1}, {"start": 65536, "length": 1}]}' \
  > expected
diff -u expected stdout || fail "see above"

# The list and one operand can be pipes.
run 1 blksum --compare --changed - manifest:before.blkm after < list
cat before.blkm | blksum --compare --changed list manifest:- after > piped || :
cmp stdout piped || fail "another result from a pipe"

# The disks have no bytes.
: > none
echo '[]' > empty
run 0 blksum --compare --changed empty none none
grep -qx "$all" stdout || fail "not identical"

# What is not judged.
refuses "needs --update or --compare" blksum --changed list before
refuses "two states of one disk" \
        blksum --compare --changed list before none
refuses "two states of one disk" \
        blksum --compare --changed empty manifest:before.blkm none
refuses "a pipe, whose size is not known" \
        sh -c 'cat before | blksum --compare --changed list - after'
refuses "standard input cannot be an image and the list" \
        blksum --compare --changed - - after
refuses "standard input cannot be an image and the list" \
        blksum --compare --changed - before manifest:-
for option in "--size 64k" "--subset 0/2" -q; do
  refuses "cannot be used with" \
          blksum --compare $option --changed list before after
done
refuses "cannot be used with --check" \
        blksum --check --compare --changed list list
refuses "--bitmap needs --update" \
        blksum --compare --bitmap b --changed list before after
# A list that is odd is not judged.
for text in '[{"start": 0, "length": 1}' '[{"start": 700000, "length": 1}]' '' \
            '[{"start": 0, "length": 64, "data": false}]'; do
  echo "$text" > odd
  refuses "'odd': " blksum --compare --changed odd before after
  [ ! -s stdout ] || fail "printed a result"
done
refuses "'nothing': cannot open: No such file" \
        blksum --compare --changed nothing before after
# More ranges than are stored: they would be joined, which can hide what the
# list misses.
if is_long || ! is_instrumented; then
  truncate -s 20m large
  "$PYTHON" - > many << 'END1'
print("[" + ",\n".join('{"start": %d, "length": 1}' % (4 * i)
                       for i in range((1 << 21) + 1)) + "]")
END1
  refuses "more than 2097152 ranges, too many to judge" \
          blksum --compare --changed many large large
fi

rounds 60 500 30
mkdir random
"$PYTHON" "$abs_top_srcdir/tests/blksum-judge-random.py" --dir random ||
  fail "see above"

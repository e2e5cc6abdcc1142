#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What blksum tells the shells of a command line that is not finished:
# tools/cli/complete.h says how.  The tests of each shell see that it is used.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/completion-functions.sh"

# says_kind KIND PREFIX WORD...: what can follow the last word.
says_kind () {
  printf '%s\t%s\n' "$1" "$2" > "$dir/kind"
  shift 2
  run 0 blksum --complete "$@"
  [ ! -s "$dir/stderr" ] || fail "a message: $*"
  head -n 1 "$dir/stdout" | cmp - "$dir/kind" ||
    fail "not $(cat "$dir/kind"): $*"
  sed 1d "$dir/stdout" | cut -f1 > "$dir/words"
}

# are WORD...: the words that came, in any order.
are () {
  printf '%s\n' "$@" | sort | sed '/^$/d' > "$dir/expected"
  sort "$dir/words" | diff -u "$dir/expected" - || fail "not these words"
}

has () {
  for word; do
    grep -qxF -e "$word" "$dir/words" || fail "no $word"
  done
}

has_not () {
  for word; do
    ! grep -qxF -e "$word" "$dir/words" || fail "$word"
  done
}

# Every option of the table, with its help.
table_options > "$dir/options"
says_kind words '' -
LC_ALL=C sort "$dir/words" | grep -v '=$' | diff -u "$dir/options" - ||
  fail "not the options of the table"
has --progress=
blksum --help > "$dir/help"
sed 1d "$dir/stdout" | while IFS='	' read -r option text; do
  grep -F -e "${option%=}" "$dir/help" | grep -q -F -e " $text" ||
    fail "$option: not the help: $text"
done
says_kind words '' --
grep -v '=$' "$dir/words" | LC_ALL=C sort > "$dir/long"
grep '^--' "$dir/options" | diff -u - "$dir/long" || fail "not the long options"

# What was given is not offered again, by letter, by name or abbreviated, unless
# another one has an effect; nor is what cannot be used with it, whichever of
# the two is first.
for given in -q --quiet --qui -zqU; do
  says_kind words '' $given -
  has_not -q --quiet
  has --digest -w
done
says_kind words '' --object secret,id=a -
has --object
says_kind words '' -d sha1 --block-size=4k -p -
has_not -d --digest -b --block-size -p --progress --progress=
says_kind words '' --linear --
has_not --streams --linear
says_kind words '' --streams 64 --
has_not --streams --linear
says_kind words '' --tag --
has_not --check --expect --compare
says_kind words '' --check --
has_not --tag --manifest
has --strict
# What cannot be known says nothing: an unknown option, an ambiguous one.
says_kind words '' -X --nonsense --s=1 --
has --digest --size --streams --strict
# The word at the cursor is not one that was given.
says_kind words '' --digest
has --digest

# Arguments: apart, behind "=", behind the letter, and of abbreviations.
digests=$(blksum --list-digests)
for option in -d --digest --dig -qd; do
  says_kind words '' $option ''
  are $digests
done
says_kind words --digest= --digest=sha
are $digests
says_kind words --dig= --dig=
are $digests
says_kind words -d -dsha
are $digests
says_kind words -qd -qdsha
are $digests
says_kind words sha256/ -d sha256/
are 4k 8k 16k 32k 64k 128k 256k 512k 1m 2m 4m 8m 16m
says_kind words --digest=sha256/ --digest=sha256/4
has 4k
says_kind words '' -b ''
are 4k 8k 16k 32k 64k 128k 256k 512k 1m 2m 4m 8m 16m
while read -r size; do
  run 0 blksum -b "$size" "$abs_top_srcdir/tests/functions.sh"
done < "$dir/words"
says_kind words '' --output ''
are human json
says_kind words --output= --output=j
are human json
for free in --size --threads --streams --subset --object; do
  says_kind words '' $free ''
  are
done
says_kind words --progress= --progress=
are
says_kind files '' --progress ''
are

# Formats: those that an error names.
blksum -f nonsense - 2> "$dir/message" < /dev/null || :
formats=$(sed 's/.*the formats here are //; s/;.*//; s/,//g' "$dir/message")
case $formats in
  raw*) ;;
  *) fail "cannot read the message: $formats" ;;
esac
says_kind words '' -f ''
are $formats
says_kind words --format= --format=q
are $formats

# Files and directories.
says_kind files '' --manifest ''
says_kind files --manifest= --manifest=di
are
says_kind directories '' --manifest-dir ''
says_kind directories --manifest-dir= --manifest-dir=/tmp
says_kind words '' --expect man
are manifest:
says_kind words --expect= --expect=
are manifest:
says_kind files manifest: --expect manifest:/tmp/a:b
are
says_kind files --expect=manifest: --expect=manifest:
are

# Operands.
says_kind files '' ''
are
says_kind files '' man
are manifest:
says_kind files '' disk.raw
are
says_kind files manifest: manifest:di
are
says_kind files manifest: --compare manifest:a manifest:b
are
says_kind files '' --check man
are
says_kind files '' --merge --manifest all man
are
says_kind words '' --image-opts dri
are

# After "--", and in the place of an argument, a "-" begins no option.
says_kind files '' -- -
are
says_kind files '' -- --digest=
are
says_kind files '' --manifest --
are
says_kind words '' --expect -- -
has --digest
says_kind files manifest: -- manifest:-x
are
# "-" alone is standard input.
says_kind words '' - --dig
has --digest

# It opens nothing: not what the words name, not standard input.
mkfifo "$dir/fifo"
says_kind words '' "$dir/fifo" --check --manifest "$dir/fifo.blkm" -
[ ! -e "$dir/fifo.blkm" ] || fail "made a file"

# It is no option, and behind others it is none either.
refuses 'unknown option\|unrecognized' blksum -q --complete
run 0 blksum --help
! grep -e --complete "$dir/stdout" || fail "--complete is in the help"

# Only what arrived was said.
if [ -c /dev/full ]; then
  status=0
  blksum --complete - > /dev/full 2> "$dir/stderr" || status=$?
  [ $status = 2 ] || fail "exit status $status of /dev/full"
fi

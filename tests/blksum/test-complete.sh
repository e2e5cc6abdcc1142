#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum prints the completions of an unfinished command line, in the format of
# tools/cli/command-line.h.  The tests of each shell verify that the shell uses
# them.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/blksum/completion-functions.sh"

# prints_kind KIND PREFIX WORD...: the kind of completions for the last word;
# they are in $dir/words.
prints_kind () {
  printf '%s\t%s\n' "$1" "$2" > "$dir/kind"
  shift 2
  run 0 $program --complete "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message: $*"
  head -n 1 "$dir/stdout" | cmp - "$dir/kind" ||
    fail "not $(cat "$dir/kind"): $*"
  sed 1d "$dir/stdout" | cut -f1 > "$dir/words"
}

program=blksum

# words_are WORD...: exactly these completions, in any order.
words_are () {
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

# All options of the table, with their help.
table_options blksum > "$dir/options"
prints_kind words '' -
LC_ALL=C sort "$dir/words" | grep -v '=$' | diff -u "$dir/options" - ||
  fail "not the options of the table"
has --progress=
blksum --help > "$dir/help"
sed 1d "$dir/stdout" | while IFS='	' read -r option text; do
  grep -F -e "${option%=}" "$dir/help" | grep -q -F -e " $text" ||
    fail "$option: not the help: $text"
done
prints_kind words '' --
grep -v '=$' "$dir/words" | LC_ALL=C sort > "$dir/long"
grep '^--' "$dir/options" | diff -u - "$dir/long" || fail "not the long options"

# An option that was given is not offered again, given by letter, by name or
# abbreviated, unless its repetition has an effect; nor is an option that cannot
# be used together with one that was given, before it or after it.
for given in -q --quiet --qui -cqU; do
  prints_kind words '' $given -
  has_not -q --quiet --tag
  has --digest --expect -w
done
prints_kind words '' -d sha1 --size=4k -p -
has_not -d --digest --size -p --progress --progress=
prints_kind words '' --tag --
has_not --check --expect --quiet
prints_kind words '' --check --
has_not --tag --manifest
has --strict
# After an unknown or ambiguous option there are no completions.
prints_kind words '' -X --nonsense --s=1 --
has --digest --size --strict
# The word at the cursor does not count as given.
prints_kind words '' --digest
has --digest

# Arguments of options: separate, after "=", after the letter, and of
# abbreviations.
digests=$(blksum --list-digests)
for option in -d --digest --dig -qd; do
  prints_kind words '' $option ''
  words_are $digests
done
prints_kind words --digest= --digest=sha
words_are $digests
prints_kind words --dig= --dig=
words_are $digests
prints_kind words -d -dsha
words_are $digests
prints_kind words -qd -qdsha
words_are $digests
prints_kind words sha256/ -d sha256/
words_are 4k 8k 16k 32k 64k 128k 256k 512k 1m 2m 4m 8m 16m
while read -r size; do
  run 0 blksum -d "sha256/$size" "$abs_top_srcdir/tests/functions.sh"
done < "$dir/words"
prints_kind words --digest=sha256/ --digest=sha256/4
has 4k
prints_kind words -dblk-md5/4k/ -dblk-md5/4k/
words_are s64 linear
prints_kind words '' --output ''
words_are human json
prints_kind words --output= --output=j
words_are human json
for free in --size --threads --part; do
  prints_kind words '' $free ''
  words_are
done
prints_kind words --progress= --progress=
words_are
prints_kind files '' --progress ''
words_are

# The formats are those in an error message.
blksum -f nonsense - 2> "$dir/message" < /dev/null || :
formats=$(sed 's/.*the formats here are //; s/;.*//; s/,//g' "$dir/message")
case $formats in
  raw*) ;;
  *) fail "cannot read the message: $formats" ;;
esac
prints_kind words '' -f ''
words_are $formats
prints_kind words --format= --format=q
words_are $formats

# Names of files and directories.
prints_kind files '' --manifest ''
prints_kind files --manifest= --manifest=di
words_are
prints_kind words '' --expect man
words_are manifest:
prints_kind words --expect= --expect=
words_are manifest:
prints_kind files manifest: --expect manifest:/tmp/a:b
words_are
prints_kind files --expect=manifest: --expect=manifest:
words_are

# Names of operands.
prints_kind files '' ''
words_are
prints_kind files '' man
words_are manifest:
prints_kind files '' disk.raw
words_are
prints_kind files manifest: manifest:di
words_are
prints_kind files '' --check man
words_are

# After "--", or as an argument, a word with "-" is no option.
prints_kind files '' -- -
words_are
prints_kind files '' -- --digest=
words_are
prints_kind files '' --manifest --
words_are
prints_kind words '' --expect -- -
has --digest
prints_kind files manifest: -- manifest:-x
words_are
# A single "-" is standard input.
prints_kind words '' - --dig
has --digest

# Nothing is opened: neither files that the words name, nor standard input.
mkfifo "$dir/fifo"
prints_kind words '' "$dir/fifo" --check --manifest "$dir/fifo.blkm" -
[ ! -e "$dir/fifo.blkm" ] || fail "created a file"

# blkhash completes its commands, and then the options of the command.
program=blkhash
prints_kind words '' ''
words_are compare update parts merge repair export
prints_kind words '' -
has compare --help --version
for command in compare update parts merge repair export; do
  table_options blkhash $command > "$dir/options"
  prints_kind words '' $command -
  LC_ALL=C sort "$dir/words" | grep -v '=$' | diff -u "$dir/options" - ||
    fail "not the options of $command"
done
prints_kind words '' compare --output ''
words_are human json mapfile
prints_kind words '' export --to ''
words_are verity fsverity leaves
prints_kind files '' compare --quiet a ''
prints_kind files manifest: compare manifest:a manifest:b
prints_kind words '' repair --from a --fr
has --from
prints_kind files '' repair --from ''
prints_kind files '' update --manifest ''
run 0 blkhash --complete nonsense ''
[ ! -s "$dir/stdout" ] || fail "completions of an unknown command"
program=blksum

# --complete is not in the help, and is only valid as the first argument.
refuses 'unknown option\|unrecognized' blksum -q --complete
run 0 blksum --help
! grep -e --complete "$dir/stdout" || fail "--complete is in the help"

# A write error makes it fail.
if [ -c /dev/full ]; then
  status=0
  blksum --complete - > /dev/full 2> "$dir/stderr" || status=$?
  [ $status = 2 ] || fail "exit status $status of /dev/full"
fi

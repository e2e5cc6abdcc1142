#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --check prints the same lines, messages and summary as sha256sum
# --check, except where the manual says otherwise.

. "$(dirname "$0")/../functions.sh"
requires_program sha256sum

cd "$dir"
newline='n
l'
cr=$(printf 'c\rr')
printf hello > a
printf world > 'two  words'
printf 3 > "$newline"
printf 4 > 'back\slash'
printf 5 > ' (paren) = x '
printf 6 > "$cr"
mkdir directory

sha256sum a 'two  words' "$newline" ' (paren) = x ' > sha256sum.sums
blksum a 'two  words' "$newline" ' (paren) = x ' > blksum.sums
sha256sum --tag a 'two  words' "$newline" ' (paren) = x ' > sha256sum.tags
blksum --tag a 'two  words' "$newline" ' (paren) = x ' > blksum.tags

# compare STATUS OTHER_STATUS SED_SCRIPT OPTION...: both programs check lists of
# their own checksums, "sums" and "tags", to which SED_SCRIPT was applied.
# sha256sum exits with OTHER_STATUS.
compare () {
  wanted=$1 other_wanted=$2 script=$3
  shift 3
  for form in sums tags; do
    for program in sha256sum blksum; do
      sed "$script" $program.$form > list
      wanted_status=$other_wanted
      [ $program = sha256sum ] || wanted_status=$wanted
      run $wanted_status $program --check "$@" list
      # Our messages say why a file could not be opened, and quote no names.
      sed "s/^$program: /blksum: /; s/ cannot open: / /; s/'//g" stderr \
        > $program.err
      cp stdout $program.out
    done
    cmp sha256sum.out blksum.out || fail "not the output of sha256sum: $*"
    # sha256sum's message names the digest, ours the reason.
    sed -i 's/ SHA256 checksum line$/ checksum line/' sha256sum.err
    cmp sha256sum.err blksum.err ||
      fail "not the messages of sha256sum: $* $(cat sha256sum.err blksum.err)"
  done
}

for options in "" --quiet --status --warn --strict --ignore-missing \
               "--status --quiet" "--quiet --warn" "--warn --status"; do
  # All images pass; one is missing; one differs; both.
  compare 0 0 "" $options
  compare 2 1 's/words/wolves/' --strict --warn
  compare 1 1 '1s/[0-9a-f]\{8\}/00000000/' $options
  compare 1 1 's/words/wolves/; 1s/[0-9a-f]\{8\}/00000000/' $options
  # Comments, empty lines, white space, and both kinds of line end.
  compare 0 0 '1i# comment
1i\

s/^/ \t /; s/ \t #/#/; s/^ \t $//' $options
  compare 0 0 's/$/\r/' $options
  # An empty list; a list that is text.
  compare 2 1 '1,$d' $options
  compare 2 1 '1,$s/.*/text/' $options
done
compare 2 1 's/words/wolves/'
compare 2 1 's/words/wolves/' --quiet
compare 2 1 's/words/wolves/' --status
compare 0 0 's/words/wolves/' --ignore-missing
compare 1 1 's/words/wolves/; 1s/[0-9a-f]\{8\}/00000000/' --ignore-missing
compare 2 1 '2,$d; s/\([ (]\)a\b/\1b/' --ignore-missing
compare 2 1 '2,$d; s/\([ (]\)a\b/\1b/' --ignore-missing --status
compare 0 0 '2itext
$aSHA1 (x) = 0a4d55a8d778e5022fab701977c5d840bbc486d0'
compare 0 0 '2itext' --quiet
compare 0 0 '2itext' --status
compare 0 0 '2itext' --warn
compare 2 1 '2itext' --strict
compare 2 1 '2itext
3imore' --strict --warn

# Hexadecimal digits may be upper case, and binary mode is the same as text
# mode.
sed 's/[0-9a-f]\{64\}/\U&/; s/^\([^ ]*\)  /\1 */' blksum.sums > list
run 0 blksum --check list
[ "$(grep -c OK stdout)" = 4 ] || fail "not four images are OK"

# A file that is not a list, and one that does not exist; the others are
# checked.
for program in sha256sum blksum; do
  run $([ $program = blksum ] && echo 2 || echo 1) \
      $program --check missing $program.sums directory $program.sums
  [ "$(grep -c OK stdout)" = 8 ] || fail "not eight images are OK"
  sed "s/^$program/blksum/; s/cannot open: //
       s/cannot read: Is a directory/read error/" stderr > $program.err
done
cmp sha256sum.err blksum.err || fail "messages about unreadable lists differ"
run 1 sh -c 'sed 1s/./0/ blksum.sums | blksum --check blksum.sums - missing'
[ "$(grep -c OK stdout)" = 7 ] || fail "not seven images are OK"
says 'WARNING: 1 computed checksum did NOT match' 'missing: .*No such file'
# If no line matches, and none has a tag, the list may be of another digest.
hint='list: none matches, and none has a tag; made with another -d, or by '
warning='WARNING: 1 computed checksum did NOT match'
sed -n '1s/./0/p' blksum.sums > list
run 1 blksum --check list
says "$warning" "$hint"
run 1 blksum --check --quiet list
says "$warning" "$hint"
run 1 blksum --check --status list
[ ! -s stderr ] || fail "not silent"
sed 1q blksum.sums >> list
run 1 blksum --check list
says "$warning"
(blksum --tag a; sed -n '1s/./0/p' blksum.sums) > list
run 1 blksum --check list
says "$warning"
blksum --tag a | sed 's/(a) = .../(a) = 000/' > list
run 1 blksum --check list
says "$warning"

# A directory is not an image; nor is a file that must not be read.
echo "$(reference a)  directory" > list
run 2 blksum --check list
[ "$(cat stdout)" = "directory: FAILED open or read" ] ||
  fail "a directory was not an error"
says "directory: .*directory" "WARNING: 1 listed file could not be read"
if [ "$(id -u)" != 0 ]; then
  cp a unreadable
  chmod 0 unreadable
  echo "$(reference a)  unreadable" > list
  run 2 blksum --check list
  says "unreadable: .*Permission denied" "WARNING: 1 listed file could not"
fi

# The list is on standard input, by name and without; an image is standard
# input.
from () { file=$1; shift; "$@" < "$file"; }
run 0 from blksum.sums blksum --check
[ "$(grep -c OK stdout)" = 4 ] ||
  fail "the list on standard input was not checked"
run 0 from blksum.tags blksum --check -
echo "$(reference a)  -" > list
run 0 from a blksum --check list
[ "$(cat stdout)" = "-: OK" ] || fail "standard input was not checked"
run 1 from 'two  words' blksum --check list
run 2 from list blksum --check
says "standard input: 1: .*standard input" "standard input: no properly"

# Names are always escaped as in lists.
blksum 'back\slash' "$cr" > list
run 0 blksum --check list
printf '%s\n' '\back\\slash: OK' '\c\rr: OK' | cmp - stdout ||
  fail "names are not escaped"

# Options that need --check, and options that cannot be used with it.
for option in --quiet --status --warn --strict --ignore-missing --allow-uris; do
  refuses "$option needs --check" blksum $option a
done
for option in --tag --zero --no-names; do
  refuses "$option cannot be used with --check" \
          blksum --check $option blksum.sums
done
# -c is --cache; the message names --check.
refuses "sums: --check" blksum -c blksum.sums
run 0 blksum --check -c blksum.sums

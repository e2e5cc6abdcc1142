#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Damaged and malicious lists of checksums never pass a check, take little
# memory, and cannot make blksum open a file that is not an image in the list.
# test-damaged.sh flips each bit of a list.

. "$(dirname "$0")/../functions.sh"

cd "$dir"
printf hello > a
printf world > b
hex=$(reference a)
good="$(blksum b)"

# is_damaged REGEX FORMAT...: printf makes a line that is an error, with any
# options.  A list of this line only has no checksum.
is_damaged () {
  why=$1
  shift
  printf "$@" > line
  (echo "$good"; cat line; echo; blksum --tag b) > list
  for options in "" --quiet --strict; do
    run 2 blksum --check $options list
    [ "$(grep -c FAILED stdout)" = 0 ] || fail "an image was read"
    says "list: 2: improperly formatted checksum line: .*$why" \
         "WARNING: 1 line is improperly formatted"
  done
  run 2 blksum --check --status list
  [ ! -s stdout ] && [ ! -s stderr ] || fail "--status printed something"
  (cat line; echo) > list
  run 2 blksum --check list
  says "list: 1: improperly" "list: no properly formatted checksum lines found"
}

is_damaged "no name" %s $hex
is_damaged "no name" 'blk-sha256/64k = %s' $hex
is_damaged "HEX  NAME" '%s a' $hex
is_damaged "HEX  NAME" '%sx  a' $hex
is_damaged "HEX  NAME" 'x%s  a' ${hex#?}
is_damaged "63 digits, but sha256 sums have 64" '%s  a' ${hex#?}
is_damaged "32 digits, but sha256 sums have 64" \
           5d41402abc4b2a76b9719d911017c592'  a'
is_damaged "64 digits, but md5 sums have 32" 'blk-md5/64k (a) = %s' $hex
is_damaged "64 digits, but null sums have 0" \
           'blk-null/64k (a) = %s' $hex
is_damaged "backslash" '\\%s  a\\b' $hex
is_damaged "backslash" '\\%s  a\\' $hex
is_damaged "blk-DIGEST/SIZE (NAME)" 'blk-sha256/64k (a) = %sx' $hex
is_damaged "blk-DIGEST/SIZE (NAME)" 'blk-sha256/64k (a) = '
is_damaged "blk-DIGEST/SIZE (NAME)" 'blk-sha256/64k a) = %s' $hex
is_damaged "form blk-DIGEST/SIZE" 'blk-sha256/64k/s (a) = %s' $hex
is_damaged "form blk-DIGEST/SIZE" 'blk-sha256/ (a) = %s' $hex
is_damaged "unknown digest 'sha257'" 'blk-sha257/64k (a) = %s' $hex
is_damaged "power of two" 'blk-sha256/65k (a) = %s' $hex
is_damaged "power of two" 'blk-sha256/99999999999999999999g (a) = %s' $hex
is_damaged "1024 streams" 'blk-sha256/64k/s1025 (a) = %s' $hex
is_damaged "first character" '#%s  a' ${hex#?}

# Editors may write a byte order mark.  After it there is a checksum, with or
# without tag, or a line without a checksum.
mark=$(printf '\357\273\277')
for line in "$hex  a" "$(blksum --tag a)" "# unknown a: why" "${hex#?}  a"; do
  echo "$mark$line" > list
  run 2 blksum --check list
  says "list: 1: .*: it begins with a UTF-8 byte order mark$" "no properly"
  (echo "$mark$line"; blksum a) > list
  run 2 blksum --check list
  [ "$(cat stdout)" = "a: OK" ] || fail "the other image was not checked"
  says "list: 1: .*: it begins with a UTF-8 byte order mark$" "1 line is"
done
for line in "" "# comment" "a text"; do
  (echo "$mark$line"; blksum a) > list
  run 0 blksum --check list
done
# A mark in the middle, where two lists were concatenated; and two marks.
for marks in $mark $mark$mark; do
  (blksum a; echo "$marks# unknown a: why") > list
  run 2 blksum --check list
  says "list: 2: .*: it begins with a UTF-8 byte order mark$" "1 line is"
done

# A list that a shell of Windows wrote is UTF-16, of either byte order.
for encoding in utf-16-le utf-16-be; do
  "$PYTHON" -c 'import sys
text = "\ufeff%s  a\r\n" % sys.argv[1]
sys.stdout.buffer.write(text.encode(sys.argv[2]))' $hex $encoding > list
  refuses "list: is UTF-16 text.*iconv" blksum --check list
done
printf '\377\0' > list
refuses "list: line 1 has a NUL" blksum --check list

# A manifest is no list, but an image can be checked with it.
blksum --manifest a.blkm a > whole
refuses "a.blkm: is a manifest.*--expect manifest:FILE" blksum --check a.blkm
run 0 blksum --expect manifest:a.blkm a

# The manifest of an OVF has sums of files, and other programs write such lists.
for line in "SHA256(a)= $hex" "SHA1(a)= $hex" "SHA256 (a) = $hex"; do
  printf '%s\r\n' "$line" > list
  refuses "list: no sums of disks.*sums of files.*OVF" blksum --check list
  blksum a >> list
  run 0 blksum --check list
done

# One warning names the first of many such lines; with --warn there is one for
# each.
for i in 1 2 3 4; do echo "$hex a"; done > list
run 2 blksum --check list
says "list: 1: " "list: no properly"
run 2 blksum --check --warn list
says "list: 1: " "list: 2: " "list: 3: " "list: 4: " "list: no properly"

# A list that is cut at any byte fails the check, unless what remains looks
# complete: the cut took the end of a name, or the last newline.
(blksum --tag a; blksum b) > whole
size=$(wc -c < whole)
first=$(head -n 1 whole | wc -c)
for i in $(seq 0 9 $((size - 1))) $((first - 2)) $((first - 1)) $first \
         $((first + 1)) $((size - 1)); do
  head -c $i whole > list
  case $i in
    $((first - 1)) | $first | $((size - 1))) run 0 blksum --check list ;;
    *) run 2 blksum --check --quiet list ;;
  esac
done

# With a NUL it is no list of lines.
printf '%s\n%s  a\0b\n%s\n' "$good" $hex "$good" > list
run 2 blksum --check list
[ "$(cat stdout)" = "b: OK" ] || fail "the list was read past the NUL"
says_once "list: line 2 has a NUL"
blksum -z a b > list
run 2 blksum --check list
says_once "list: line 1 has a NUL"
head -c 100000 /dev/zero > list
run 2 blksum --check list
says_once "NUL"

# Long lines, and many lines.
limited () { (ulimit -v $1; shift; exec "$@"); }
[ "$SANITIZE" != no ] || [ -n "$wrapper" ] || limited=yes
bounded () {
  if [ "$limited" ]; then limited 250000 "$@"; else "$@"; fi
}
(echo "$good"; printf '%s  ' $hex; head -c 300000000 /dev/zero | tr '\0' n
 echo; echo "$good") | (run 2 bounded blksum --check -t 1)
[ "$(grep -c OK stdout)" = 2 ] || fail "not both images were checked"
says "input: 2: .*longer than 65536" "1 line is"
yes '# comment' | head -n 2000000 | (run 2 bounded blksum --check -t 1)
says_once "no properly"
yes "$hex  missing" | head -n 100000 | (run 2 bounded blksum --check -t 1)
[ "$(grep -c '^missing: FAILED open or read$' stdout)" = 100000 ] ||
  fail "not 100000 that are missing"
grep -q "WARNING: 100000 listed files could" stderr ||
  fail "the number in the summary differs"
# A name that is too long for a file, and a name of the maximum length of a
# line.
long=$(head -c 60000 /dev/zero | tr '\0' n)
echo "$hex  $long" > list
run 2 blksum --check list
[ "$(wc -l < stderr)" = 2 ] || fail "not two lines"

# blksum connects to no server, and images cannot name other files.
for name in nbd://localhost:1/x nbd+unix:///?socket=$dir/s ssh://host/x; do
  echo "$hex  $name" > list
  run 2 blksum --check list
  [ "$(cat stdout)" = "$name: FAILED open or read" ] || fail "$(cat stdout)"
  says "--allow-uris" "1 listed file could not be read"
  run 2 blksum --check --ignore-missing list
done
echo "$hex  json:{}" > list
run 2 blksum --check list
says "No such file" "1 listed file"
# A name is a file name even if it begins with a dash.
printf hello > --help
echo "$hex  --help" > list
run 0 blksum --check list
# Each image is one line on the terminal.
printf '\\%s  a\\nb: OK\n' $hex > list
run 2 blksum --check list
[ "$(cat stdout)" = '\a\nb: OK: FAILED open or read' ] ||
  fail "the name made another line"
# Control characters are escaped, those of ASCII and others.
control=$(printf 'a\001\t\033[1m\177\302\233b\303\251')
shown=$(printf 'a???[1m??b\303\251')
printf hello > "$control"
for tag in "" --tag; do
  blksum $tag "$control" > list
  run 0 blksum --check list
  [ "$(cat stdout)" = "$shown: OK" ] || fail "$(od -c stdout)"
done
run 0 blksum --expect $hex "$control"
[ "$(cat stdout)" = "$shown: OK" ] || fail "$(od -c stdout)"
rm "$control"
run 2 blksum --check list
[ "$(cat stdout)" = "$shown: FAILED open or read" ] || fail "$(od -c stdout)"
says "a.*b.*: cannot open: No such file" "1 listed file"
[ "$(head -n 1 stderr | cut -d: -f 2)" = " $shown" ] ||
  fail "the name differs from that on stdout"
printf '\\%s  a\\n\033\n' $hex > list
run 2 blksum --check list
[ "$(cat stdout)" = '\a\n?: FAILED open or read' ] || fail "$(od -c stdout)"
# An incomplete UTF-8 character is escaped.
printf '%s  a\302\n' $hex > list
run 2 blksum --check list
[ "$(head -c 3 stdout | od -An -c | tr -d ' ')" = 'a302:' ] ||
  fail "$(od -c stdout)"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Some options print something and exit.

. "$(dirname "$0")/../functions.sh"

run 0 blksum --list-digests
cp "$dir/stdout" "$dir/digests"
LC_ALL=C sort -u "$dir/digests" | cmp - "$dir/digests" ||
  fail "the digests are not sorted"
for digest in sha256 sha512 sha1 md5 sha3-256 blake2b512 null; do
  grep -qx $digest "$dir/digests" || fail "no $digest"
done
if grep -E '[A-Z /:]' "$dir/digests"; then
  fail "a digest has an odd name"
fi
run 0 blksum -l
cmp "$dir/digests" "$dir/stdout" || fail "-l is not --list-digests"

run 0 blksum --version
grep -qx "blksum (blkhash) [0-9.]*" "$dir/stdout" || fail "no version"
[ "$(wc -l < "$dir/stdout")" = 1 ] || fail "--version prints not one line"
run 0 blksum -V
grep -qx "blksum (blkhash) [0-9.]*" "$dir/stdout" || fail "no version by -V"
run 0 blksum --help
[ ! -s "$dir/stderr" ] || fail "help on stderr"
# api/test-interface.sh has the options.
fits_screen () {
  [ "$(wc -L < "$dir/stdout")" -le 80 ] || fail "--help is too wide"
  [ "$(wc -l < "$dir/stdout")" -le $lines ] || fail "--help is too long"
}
lines=40                        # README.md names these limits
fits_screen
cp "$dir/stdout" "$dir/help"
# Options are aligned, and all letters and names are unique.
grep '^  \(-.,\|   \) --' "$dir/help" > "$dir/rows"
[ -s "$dir/rows" ] || fail "--help has no options"
[ "$(grep -c '^.\{26\} [^ ]' "$dir/rows")" = "$(wc -l < "$dir/rows")" ] ||
  fail "--help is not in two columns"
twice=$(tr -s ' ,' '\n\n' < "$dir/rows" | grep -e '^-.$' | sort | uniq -d
        cut -c 7- "$dir/rows" | grep -o -e '^--[-a-z]*' | sort | uniq -d)
[ -z "$twice" ] || fail "two options are $twice"
run 0 blksum -h
cmp "$dir/help" "$dir/stdout" || fail "-h is not --help"

# They take precedence over operands, which need not exist.
run 0 blksum "$dir/missing" -V

# ---- blkhash ----

run 0 blkhash --version
grep -qx "blkhash (blkhash) [0-9.]*" "$dir/stdout" || fail "no version"
lines=24
run 0 blkhash --help
fits_screen
cp "$dir/stdout" "$dir/help"
for command in compare update parts merge repair export; do
  grep -q "^  $command  " "$dir/help" || fail "--help without $command"
  run 0 blkhash $command -h
  fits_screen
done

refuses "a command is missing; try 'blkhash --help'" blkhash
refuses "'disk.raw' is not a command; blksum prints" blkhash disk.raw
refuses "try 'blkhash compare --help'" blkhash compare --nonsense

# ---- Errors ----

# Only an error of syntax refers to --help.
refuses "--tag cannot be used with --check; try 'blksum --help'" \
        blksum --tag --check list
refuses "--quiet needs --check or --expect; try" blksum -q list
refuses "--strict needs --check; try" blksum --strict list
refuses "--expect cannot be used with --check; try" \
        blksum --expect 00 --check list
refuses "--strict cannot be used with --expect; try" \
        blksum --strict --expect 00 list
refuses "--size: invalid number 'x'$" blksum --size x -
refuses "10GB' can be in powers .*: write 10GiB for 1024$" blksum --size 10GB -

# Options that earlier versions had: what to write now, in one line.
for old in compare update=a changed=a bitmap=a audit=1% merge manifest-dir=. \
           resume subset=1/2 repair-from=a expect-sum=none repair-limit=1% \
           dry-run object=a image-opts; do
  refuses "--${old%=*} is now: .*\(blkhash\|blksum\|--part\) " \
          blksum --$old disk.raw
done
refuses "--streams is now: -d sha256/64k/sN$" blksum --streams 4 a
refuses "--linear is now: -d sha256/64k/linear$" blksum --linear a

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Some options print something and exit.

. "$(dirname "$0")/functions.sh"

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
# All options are listed, and no line is too long for a terminal.
for option in --digest --list-digests --block-size \
              --size --threads --progress --cache --no-extents --format \
              --force-share --queue-size --queue-depth --read-size --tag \
              --check --expect --compare --quiet --status --warn --strict \
              --ignore-missing --allow-uris --part --manifest-dir --merge \
              --manifest --no-names --output \
              --zero --help --version; do
  grep -q -e "$option" "$dir/stdout" || fail "--help without $option"
done
[ "$(wc -L < "$dir/stdout")" -le 80 ] || fail "--help is too wide"
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

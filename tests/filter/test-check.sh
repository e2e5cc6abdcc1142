#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The result file is a list for blksum --check.  Whatever the file contains, an
# image without a checksum in it never passes.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

cd "$dir"
make_image image
cp image 'a: b\c'

# Lines with and without tags, with several names; the list is on standard input
# too.
for tag in true false; do
  for name in image 'a: b\c' -; do
    rm -f "$sums"
    serve file "$dir/image" blkhash-file="$sums" blkhash-tag=$tag \
          blkhash-name="$name" blkhash-digest=sha512/4k
    # There is no sum yet, and none while blocks are missing.
    run 2 blksum --check -d sha512/4k "$sums"
    says_once "no properly formatted"
    client "" 'h.pread(8, 0)'
    copy "$uri" copy
    wait_for_match "$name\|a: b"
    stop
    run 0 sh -c 'blksum --check -d sha512/4k "$1" < copy' sh "$sums"
    write_data copy 5000000 1
    [ "$name" != - ] ||
      run 1 sh -c 'blksum --check -d sha512/4k "$1" < copy' sh "$sums"
  done
done

# A line without a sum fails the check, with --ignore-missing and --quiet too,
# and beside a line that passes.
rm "$sums"
serve file "$dir/image" blkhash-file="$sums" blkhash-missing=fail \
      blkhash-name='a: b\c'
client "" 'h.pread(h.get_size() - 8, 0)'
wait_for_match '^# unknown a: b\\\\c: '
stop
for options in "" --ignore-missing --quiet; do
  run 2 blksum --check $options "$sums"
  grep -q '^\\a: b\\\\c: FAILED unknown$' stdout ||
    fail "$(cat stdout)"
  grep -q 'blksum: a: b.c: unknown: 8 bytes are missing$' stderr ||
    fail "$(cat stderr)"
  grep -q 'WARNING: 1 listed file has no sum' stderr || fail "no warning"
done
run 2 blksum --check --status "$sums"
blksum image >> "$sums"
run 2 blksum --check "$sums"
grep -q '^image: OK' stdout || fail "the image with a sum is not OK"
says "unknown" "has no sum"

# A line of the verify filter for a disk that differs from its manifest: the
# status is 1, whatever else is in the list, and the image is not read.
# Old filters wrote "bad".
for word in differs bad; do
  { cat "$sums"; printf '# %s no: such\\\\file: 65536 bytes\n' $word; } > list
  for options in "" --ignore-missing --quiet; do
    run 1 blksum --check $options list
    grep -q '^\\no: such\\\\file: FAILED differs$' stdout || fail "$(cat stdout)"
    says "unknown" "no: such.file: differs: 65536 bytes$" "has no sum" \
         "WARNING: 1 listed file differs from its manifest"
  done
done
run 1 blksum --check --status list
printf '# differs name: some bytes\n# unknown name\n# bad\n' > list
run 2 blksum --check list
says_once "no properly formatted"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Files in /proc report size 0 although they have content: their sum is that of
# the content.  The sum of an empty file is that of an empty image.

. "$(dirname "$0")/../functions.sh"

nothing=af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc
from () { file=$1; shift; "$@" < "$file"; }

: > "$dir/empty"
for options in "" "-f raw" "--cache" "-U" "--no-extents" "-t 4"; do
  prints_sum $nothing blksum $options "$dir/empty"
  prints_sum $nothing from "$dir/empty" blksum $options
done
refuses "$dir/empty: .*qcow2" blksum -f qcow2 "$dir/empty"

file=/proc/version
[ -r $file ] && [ "$(stat -c %s $file)" = 0 ] || skip "no $file of size 0"
cat $file > "$dir/content"
[ -s "$dir/content" ] || skip "$file is empty"
sum=$(reference "$dir/content")
for options in "" "-f raw" "--cache" "-U" "--no-extents" "-t 4"; do
  prints_sum "$sum" blksum $options $file
  prints_sum "$sum" from $file blksum $options
done
run 0 blksum --output=json $file
grep -q "\"size\": *$(stat -c %s "$dir/content")\>" "$dir/stdout" ||
  fail "the size differs"

# Longer than one of our buffers, unless a module is loaded meanwhile.
file=/proc/kallsyms
if [ -r $file ] && cat $file > "$dir/content" 2> /dev/null &&
   [ "$(stat -c %s "$dir/content")" -gt 2000000 ]; then
  run 0 blksum $file
  got_sum=$(cut -d' ' -f1 < "$dir/stdout")
  if cmp -s $file "$dir/content"; then
    [ "$got_sum" = "$(reference "$dir/content")" ] ||
      fail "the sum of $file differs"
  fi
fi

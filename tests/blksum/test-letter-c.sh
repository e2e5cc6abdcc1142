#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# In sha256sum -c checks sums, but not in blksum: with a list of checksums it is
# an error that explains this.  With --cache such a list is hashed, and with -c
# any other file.

. "$(dirname "$0")/../functions.sh"

make_image "$dir/image"
printf hello > "$dir/back\\slash"
cd "$dir"

from () { file=$1; shift; "$@" < "$file"; }

# is_refused LETTERS: LETTERS contain -c; the operand is the list "sums".
is_refused () {
  refuses "sums: .*list of sums.*--cache" blksum $1 sums
  refuses "-: .*list of sums.*--cache" from sums blksum $1
}

for writer in sha256sum "sha256sum -b" "sha256sum --tag" md5sum \
              blksum "blksum --tag" "blksum --tag -d sha256/1m/s64" \
              "blksum -d md5 --tag" "blksum -d xxh64"; do
  requires_program ${writer%% *}
  case $writer in
    # The shortest sum, if this build has that digest.
    *xxh64) blksum -l | grep -q -x xxh64 || continue ;;
  esac
  for name in image 'back\slash'; do
    run 0 $writer "$name"
    cp stdout sums
    is_refused -c
  done
  prints_sum "$(reference sums)" blksum --cache sums
  prints_sum "$(reference sums)" from sums blksum --cache
done

# With other options; and only for the letter.
for letters in -cU -Uc "-c --cache" "--cache -c" "-f raw -c"; do
  is_refused "$letters"
done
refuses "-: .*list of sums.*--cache" from sums blksum -c -
prints_sum "$(reference sums)" blksum sums

# A list with many lines.
sum=$(reference image)
i=0
while [ $i -lt 200 ]; do
  echo "$sum  image$i"
  i=$((i + 1))
done > many
mv many sums
is_refused -c

# The next operand is still hashed.
run 2 blksum -c sums image
[ "$(cat stdout)" = "$sum  image" ] || fail "the next operand was not hashed"

# Files that are not a list.
printf 'deadbeef  image\n' > short
printf 'hello (world) = 12\n' > text
head -c 5000 /dev/zero | tr '\0' a > letters
: > empty
for file in image short text letters empty; do
  prints_sum "$(reference $file)" blksum -c $file
  prints_sum "$(reference $file)" from $file blksum -c
done

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Images of odd sizes have the sum of the reference: by path, as standard input,
# from a pipe and from an NBD server.

. "$(dirname "$0")/../functions.sh"

from_stdin () { blksum < "$1"; }
from_pipe () { cat "$1" | blksum; }
from_fifo () {
  cat "$1" > "$dir/fifo" &
  blksum "$dir/fifo"
}
mkfifo "$dir/fifo"

all_ways () {
  sum=$(reference "$1")
  prints_sum "$sum" blksum "$1"
  prints_sum "$sum" from_stdin "$1"
  prints_sum "$sum" from_pipe "$1"
  prints_sum "$sum" from_fifo "$1"
}

sizes="0 1 511 512 70000 65535 65536 65537 1048577"
for size in $sizes; do
  : > "$dir/data$size"
  write_data "$dir/data$size" 0 $size
  rm -f "$dir/hole$size"
  truncate -s $size "$dir/hole$size"
  all_ways "$dir/data$size"
  all_ways "$dir/hole$size"
done

# The known answers of blkhash-format(7).
printf '' > "$dir/empty"
prints_sum af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc \
           blksum "$dir/empty"
printf hello > "$dir/hello"
prints_sum 337355feb53a5309d5aba92796223c2c84ffab930e706c01fef573a2722545e6 \
           blksum "$dir/hello"
prints_sum f741ac9ce55f5325906bb14e9c05d467 blksum -d md5 "$dir/hello"

# The offset of standard input is in the middle of a file.
from_middle () { { dd bs=1000 count=7 of=/dev/null status=none; blksum; } < "$1"; }
tail -c +7001 "$dir/data1048577" > "$dir/rest"
prints_sum "$(reference "$dir/rest")" from_middle "$dir/data1048577"

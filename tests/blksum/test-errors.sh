#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For operands that cannot be hashed, and for wrong command lines, blksum prints
# one error and no sum, and exits with status 2.

. "$(dirname "$0")/../functions.sh"

make_image "$dir/image"
sum=$(reference "$dir/image")

refuses "$dir/missing: .*No such file" blksum "$dir/missing"
refuses "$dir: .*directory" blksum "$dir"
refuses "$dir/image/x: .*Not a directory" blksum "$dir/image/x"
refuses ": " blksum ""
ln -s loop "$dir/loop"
refuses "$dir/loop: .*symbolic" blksum "$dir/loop"
refuses "-: .*directory" sh -c 'blksum < .'

# A newline in a name does not make two lines of a message.
newline=$(printf '%s/a\nb' "$dir")
refuses "$dir/a.*b: .*No such file" blksum "$newline"

for digest in unknown '' sha256x 'sha256 '; do
  refuses ".*unknown digest '$digest'" blksum -d "$digest" "$dir/image"
done
for threads in 0 -1 129 x 1x '' ' 1' 1k 99999999999999999999; do
  refuses ".*threads.*'$threads'" blksum --threads="$threads" "$dir/image"
done
for size in 9x 0 3 5 100 65537 32m 1t '' k -4 4.0 0x40 99999999999g 4kk; do
  refuses ".*block-size.*'$size'" blksum --block-size="$size" "$dir/image"
done
for size in 9x 0 511 33m x; do
  refuses ".*read-size.*'$size'" blksum --read-size="$size" "$dir/image"
done
for size in 9x 0 2g; do
  refuses ".*queue-size.*'$size'" blksum --queue-size="$size" "$dir/image"
done
for depth in 0 1025 1k x; do
  refuses ".*queue-depth.*'$depth'" blksum --queue-depth="$depth" "$dir/image"
done
refuses ".*output.*'xml'" blksum --output=xml "$dir/image"
refuses "--queue-size: invalid number '99999999999999999999'" \
        blksum --queue-size=99999999999999999999 "$dir/image"
refuses "--size: '10GB' can be in powers of 1000 or of 1024: write 10GiB for 1024" \
        blksum --size 10GB "$dir/image"
refuses "--size: '2kb' can be .*: write 2KiB " blksum --size 2kb "$dir/image"
for size in 1KIB 1Ki 1kiBB 1iB 1B 1kB 1p 1tt; do
  refuses "--size: .*'$size'" blksum --size $size "$dir/image"
done
refuses "--size: '16777216TiB' is too large" \
        blksum --size 16777216TiB "$dir/image"
refuses "--queue-size: '99999999999g' is too large" \
        blksum --queue-size=99999999999g "$dir/image"
refuses ".*progress.*'x'" blksum --progress=x "$dir/image"
refuses ".*nonsense" blksum --nonsense "$dir/image"
refuses ".*-Q" blksum -Q "$dir/image"
refuses ".*-Q" blksum -UQ "$dir/image"
refuses ".*-d" blksum "$dir/image" -d
refuses ".*--digest" blksum "$dir/image" --digest
refuses "option '--tag' takes no argument" blksum --tag=x "$dir/image"
refuses "option '--zero' takes no argument" blksum --zero=x "$dir/image"
refuses "invalid option '-Q'" blksum --tag -Qz "$dir/image"
refuses "invalid option '-3'" blksum -p3 "$dir/image"

# Options that cannot be combined, in any order.  Errors of single options
# are reported first, from left to right.
refuses "--warn needs --check; try 'blksum --help'$" \
        blksum -f nonsense "$dir/image" --warn
refuses "unrecognized option '--nonsense'" blksum --warn x --nonsense
refuses "unknown format 'nonsense'" blksum -f nonsense "$dir/missing"
for options in "--check --warn" "--warn --check"; do
  refuses "missing: " blksum $options missing
done

# Did-you-mean suggestions.
refuses "'--no' is ambiguous; possibilities: '--no-extents' '--no-names'; " \
        blksum --no "$dir/image"
refuses "'--t' is ambiguous; possibilities: '--tag' '--threads'; " \
        blksum --t=3 "$dir/image"
refuses "unrecognized option '--treads'; try 'blksum --help'$" \
        blksum --treads=3 "$dir/image"
refuses "unrecognized option '--xyzzy'; try" blksum --xyzzy "$dir/image"
refuses "unrecognized option '--a?b'; try" \
        blksum "$(printf -- '--a\033b')" "$dir/image"
# A unique abbreviation of an option is accepted.
prints_sum "$(reference -b 4k "$dir/image")" blksum --block 4k "$dir/image"

# With -c and a list of checksums, the message suggests --check.
blksum "$dir/image" > "$dir/sums"
refuses "$dir/sums: .*--cache" blksum -c "$dir/sums"
prints_sum "$(reference "$dir/sums")" blksum --cache "$dir/sums"
prints_sum "$sum" blksum -c "$dir/image"

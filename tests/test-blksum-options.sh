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

# One line for the CPU, one with titles; for each digest its library, and those
# of our kernels that the CPU can run, with the numbers of blocks for which they
# are selected.
run 0 blksum --list-kernels
# The kernel of the system reports the same CPU; valgrind emulates another one.
cpu=$(awk -F '\t*: ' '$1 == "vendor_id" { vendor = $2 }
                      $1 == "cpu family" { family = $2 }
                      $1 == "model" {
                        print vendor ", family " family ", model " $2
                        exit
                      }' /proc/cpuinfo 2> /dev/null || :)
case $cpu in
  *Intel,* | *AMD,*)
    [ -n "$wrapper" ] || [ "$(head -n 1 "$dir/stdout")" = "CPU: $cpu" ] ||
      fail "the CPU is $cpu"
    ;;
esac
[ ! -s "$dir/stderr" ] || fail "kernels on stderr"
# The length of the list of numbers depends on the CPU.
[ "$(sed 's/ [^ ]*$//' "$dir/stdout" | wc -L)" -le 44 ] ||
  fail "--list-kernels is too wide"
sed -n 1p "$dir/stdout" | grep -q '^CPU: .' || fail "no CPU"
sed -n 2p "$dir/stdout" | grep -q '^digest  *kernel .*for blocks$' ||
  fail "no line with titles"
sed 1,2d "$dir/stdout" | awk '$2 ~ /-x/ { print $1, $2 }' > "$dir/kernels"
$wrapper $(real_program ./lane-kernels) | diff - "$dir/kernels" ||
  fail "the kernels are not those of this CPU"
sed 1,2d "$dir/stdout" | awk '$2 !~ /-x/ { print $1, $2 }' > "$dir/libraries"
libb2=OpenSSL
grep -q '^#define HAVE_LIBB2 1' "$abs_top_builddir/config.h" && libb2=libb2
cut -d' ' -f1 "$dir/kernels" | uniq |
  sed "s/\$/ OpenSSL/; s/^\(blake2b-256\) .*/\1 $libb2/" |
  diff - "$dir/libraries" || fail "the libraries of the digests differ"
sed 1,2d "$dir/stdout" > "$dir/rows"
awk 'NF != 5 || $4 !~ /^[0-9]+\.[0-9]+$/ || $5 !~ /^(-|[0-9,-]*)$/ { bad = 1; print }
     { n = split ($5, part, ","); for (i = 1; i <= n; i++) {
         m = split (part[i], end, "-");
         if (part[i] != "-") count[$1] += end[m] - end[1] + 1 } }
     END { for (d in count) if (count[d] != 32) { bad = 1; print d, count[d] }
           exit bad }' "$dir/rows" || fail "an unexpected line"
BLKHASH_CPU=none run 0 blksum --list-kernels
[ "$(wc -l < "$dir/stdout")" = 2 ] ||
  fail "kernels are listed, but there are none"

run 0 blksum --version
grep -qx "blksum (blkhash) [0-9.]*" "$dir/stdout" || fail "no version"
[ "$(wc -l < "$dir/stdout")" = 1 ] || fail "--version prints not one line"
run 0 blksum -V
grep -qx "blksum (blkhash) [0-9.]*" "$dir/stdout" || fail "no version by -V"
run 0 blksum --help
[ ! -s "$dir/stderr" ] || fail "help on stderr"
# All options are listed, and no line is too long for a terminal.
for option in --digest --list-digests --list-kernels --block-size --streams --linear \
              --size --threads --progress --cache --no-extents --format --image-opts \
              --object --force-share --queue-size --queue-depth --read-size --tag \
              --check --expect --compare --quiet --status --warn --strict \
              --ignore-missing --allow-uris --subset --part --manifest-dir --merge \
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

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --expect compares an image with a sum: exit status 0 if equal, 1 if
# different, 2 on errors.

. "$(dirname "$0")/../functions.sh"

cd "$dir"
make_image raw
cp raw other
write_data other 4000000 1
sum=$(reference raw)
zeros=$(echo $sum | tr 0-9a-f 0)

# is SUM IMAGE [OPTION]...: they match.  is_not SUM IMAGE [OPTION]...: they
# differ.
is () {
  expect=$1 image=$2
  shift 2
  run 0 blksum --expect "$expect" "$@" "$image"
  [ "$(cat stdout)" = "$image: OK" ] && [ ! -s stderr ] || fail "not OK"
  run 0 blksum -q --expect "$expect" "$@" "$image"
  [ ! -s stdout ] && [ ! -s stderr ] || fail "not quiet"
}
is_not () {
  expect=$1 image=$2 hint=
  shift 2
  case $expect in
    blk-*) ;;
    *) hint="$image: made with another -d, by sha256sum, or copied to a larger \
disk (--size)?$" ;;
  esac
  run 1 blksum --expect "$expect" "$@" "$image"
  [ "$(cat stdout)" = "$image: FAILED" ] || fail "not FAILED"
  says "$image: expected blk-.* = ${expect##*[: ]}$" "$image: got      blk-" \
       ${hint:+"$hint"}
  run 1 blksum --quiet --expect "$expect" "$@" "$image"
  [ "$(cat stdout)" = "$image: FAILED" ] || fail "--quiet prints no FAILED"
  run 1 blksum --status --expect "$expect" "$@" "$image"
  [ ! -s stdout ] && [ ! -s stderr ] || fail "--status prints something"
}

is $sum raw
is $(echo $sum | tr a-f A-F) raw
is_not $sum other
is_not $zeros raw
run 1 blksum --expect $zeros raw
says "expected blk-sha256/64k = $zeros$" "got      blk-sha256/64k = $sum$" \
     "made with another -d"

# A shell leaves a carriage return.
cr=$(printf '\r')
is "$sum$cr" raw
is "blk-sha256/64k:$sum$cr" raw
is "blk-sha256/64k = $sum$cr" raw
# The name does not matter, and comments are skipped: a result file as a whole.
nl='
'
for text in "$sum  raw" "$sum *other$cr" "\\$sum  a\\nb" "$sum$cr$nl" \
            "blk-sha256/64k (a (b) = c) = $sum" "$nl# a file$nl$nl$sum  x$nl" \
            "\\blk-sha256/64k (a\\\\b) = $sum" "blk-sha256/64k:$sum$cr$nl"; do
  run 0 blksum --expect "$text" raw
done
for text in "$sum$cr$cr" "$sum$cr " "$cr$sum"; do
  run 2 blksum --expect "$text" raw
  says_once "--expect: it is not 'HEX  NAME'"
done

# The linear construction; a sum does not match by another construction.
linear=$(reference --linear -b 4m raw)
is blk-sha256/4m/linear:$linear raw
is blk-sha256/4m/linear:$linear raw -d sha256/4m/linear
is $linear raw -d blk-sha256/4m/linear
is_not blk-sha256/4m/linear:$linear other
is_not blk-sha256/4m:$linear raw

# The hash spec is in the checksum, in the options, or in both.
for kind in sha256/64k sha256/4k/s64 sha512/4m md5/512 sha1/16m/s3 \
            blake2b-256/1m/s1024; do
  digest=${kind%%/*}
  blksum -l | grep -q -x $digest || continue
  every 1 2 || continue
  options="-d $kind"
  other=$(reference $(of_spec $kind) other)
  its_sum=$(reference $(of_spec $kind) raw)
  for expected in "blk-$kind:$its_sum" "blk-$kind = $its_sum"; do
    is "$expected" raw
    is "$expected" raw $options
    is_not "$expected" other
  done
  is $its_sum raw $options
  is_not $its_sum other $options
  is blk-$digest:$its_sum raw $options
  # The output of blksum and of nbdcopy is accepted.
  is "$(blksum --tag --no-names $options raw)" raw
  is "$(blksum --no-names $options raw)" raw $options
  is_not "$(blksum --tag --no-names $options other)" raw
done

# The image is a manifest; the options must be those of the manifest.
blksum --manifest raw.blkm raw > stdout
blksum --manifest other.blkm -d md5/4k/s3 other > stdout
blksum --manifest linear.blkm -d sha256/64k/linear raw > stdout
is manifest:raw.blkm raw
is manifest:raw.blkm raw -f raw -d sha256 -b 64k
is manifest:linear.blkm raw
is manifest:other.blkm other
is manifest:other.blkm other -d md5/4k/s3
is manifest:raw.blkm manifest:raw.blkm
refuses "manifest of blk-md5/4k/s3, not of blk-sha256/64k" \
        blksum --expect manifest:raw.blkm manifest:other.blkm
blksum --tag manifest:raw.blkm | sed s/raw.blkm/other.blkm/ > list
run 2 blksum --check list
says "manifest of blk-md5/4k/s3, not of blk-sha256/64k" "could not be read"
for manifest in "raw.blkm other" "other.blkm raw" "linear.blkm other"; do
  run 1 blksum --expect manifest:${manifest%% *} ${manifest#* }
  [ "$(cat stdout)" = "${manifest#* }: FAILED" ] || fail "not FAILED"
  says "expected blk-" "got      blk-"
  run 1 blksum --status --expect manifest:${manifest%% *} ${manifest#* }
  [ ! -s stdout ] && [ ! -s stderr ] || fail "--status prints something"
done
from_pipe () { cat $input | blksum "$@"; }
input=raw
run 0 from_pipe --expect manifest:raw.blkm
[ "$(cat stdout)" = "-: OK" ] || fail "the image in a pipe does not match"
run 1 from_pipe --expect manifest:other.blkm -
input=raw.blkm
run 0 from_pipe --expect manifest:- raw
run 1 from_pipe --expect manifest:- other
for image in "" - manifest:-; do
  refuses "standard input cannot be both" \
          from_pipe --expect manifest:- $image
done
cp raw larger
truncate -s 10m larger
run 1 blksum --expect manifest:raw.blkm larger
says_once "larger: has 10485760 bytes, manifest:raw.blkm 8388608; --size \
8388608 reads only these"
run 0 blksum --expect manifest:raw.blkm --size 8m larger
unread="bytes after the image were not read"
printf '%s\n' "larger: OK" "larger: 2097152 $unread" |
  cmp - stdout || fail "the first bytes do not match"
run 0 blksum -q --expect $sum --size 8m larger
[ ! -s stdout ] || fail "not quiet"
run 1 blksum --expect manifest:raw.blkm --size 7m larger
[ "$(cat stdout)" = "larger: FAILED" ] || fail "more than FAILED"
says_once "larger: has 7340032 bytes, manifest:raw.blkm 8388608$"
input=larger
run 0 from_pipe --expect manifest:raw.blkm --size 8m
printf '%s\n' "-: OK" "-: any $unread" | cmp - stdout || fail "a larger pipe"
head -c 700 raw.blkm > cut.blkm
refuses "manifest:cut.blkm: the manifest is cut off" \
        blksum --expect manifest:cut.blkm raw
refuses "manifest:none: cannot open" blksum --expect manifest:none raw
refuses "manifest:raw: .*not a blkhash manifest" blksum --expect manifest:raw raw
refuses "part of an image" blksum \
  --expect "manifest:$abs_top_srcdir/tests/fuzz/manifest/part.blkm" raw
refuses "the sum is not that of the leaves" blksum \
  --expect "manifest:$abs_top_srcdir/tests/fuzz/manifest/wrong-sum.blkm" raw
for options in "-d md5" "-b 4k" -dsha256/64k/s4 -dsha256/64k/linear; do
  refuses "--expect: .*made with another" \
          blksum $options --expect manifest:raw.blkm raw
done

# is_usage_error REGEX COMMAND...: an error of the command line, before anything
# is opened.
is_usage_error () {
  refuses "$@" missing
}
for options in "-d md5" "-b 4k" -dsha256/64k/s4 -dsha256/64k/linear \
               "-d sha256/4k"; do
  is_usage_error "--expect: .*made with another" blksum $options \
                 --expect blk-sha256/64k:$sum
done
# A spec with a block size is of the flat construction.
is_usage_error "another construction" blksum -d sha256/64k \
               --expect blk-sha256/64k/s4:$sum
# Checksums of other programs: see also test-also.sh.
for text in sha256:$sum SHA256:$sum md5:$sum "sha256 = $sum" \
            "SHA256 (raw) = $sum" "MD5(raw)= $sum"; do
  is_usage_error "--expect: .* is the sum of a file: .*sum missing; if it is of" \
                 blksum --expect "$text"
done
# Texts with another number of sums, or with a line that says why.
is_usage_error "there is no sum" blksum --expect ""
is_usage_error "there is no sum" blksum --expect "# a comment$nl"
is_usage_error "there are two sums" blksum --expect "$sum  a$nl$sum  a"
is_usage_error "--expect is given twice" blksum --expect "${sum#?}0" --expect "$sum"
is_usage_error "the text of a file, not its name" blksum --expect disk.sum
for words in "unknown a: 5 bytes at 0 cannot be read: EIO" "incomplete a: why"; do
  for text in "$sum  a$nl# $words" "# $words$nl$sum  a" "# $words"; do
    is_usage_error "'# unknown' says that there is no sum" \
                   blksum --expect "$text"
  done
done
for words in differs bad; do
  is_usage_error "'# differs' says that the image is bad" \
                 blksum --expect "$sum  a$nl# $words a: 65536 bytes$nl"
done
# Arguments that are no checksum.
is_usage_error "63 digits, .*sha256 sums have 64" blksum --expect "${sum#?}"
is_usage_error "64 digits, .*md5 sums have 32" blksum --expect blk-md5/64k:$sum
is_usage_error "64 digits, .*null sums have 0" blksum --expect blk-null/64k:$sum
is_usage_error "there is no sum" blksum --expect "" -d null
is_usage_error "not 'blk-DIGEST" blksum --expect "blk-sha256/64k:"
is_usage_error "not 'blk-DIGEST" blksum --expect "blk-null/64k:"
is_usage_error "not 'HEX  NAME'" blksum --expect sha256/64k:$sum
is_usage_error "not 'HEX  NAME'" blksum --expect "x${sum#?}"
is_usage_error "not 'HEX' or 'blk-" blksum --expect none
blksum -d null --manifest null.blkm raw > stdout
is_usage_error "length is zero proves nothing" blksum --expect manifest:null.blkm
is_usage_error "unknown digest 'sha257'" blksum --expect blk-sha257/64k:$sum
is_usage_error "power of two" blksum --expect blk-sha256/65k:$sum
is_usage_error "form blk-DIGEST/SIZE" blksum --expect blk-sha256/64k/x:$sum
is_usage_error "form blk-DIGEST/SIZE" blksum --expect blk-:$sum
is_usage_error "one image" blksum --expect $sum raw
for option in --check --tag --no-names --zero; do
  is_usage_error "cannot be used with" blksum --expect $sum $option
done

# An image that cannot be read does not just differ, with --quiet either.
refuses "missing: .*No such file" blksum --expect $sum missing
refuses "missing: .*No such file" blksum -q --expect $sum missing

# Pipes, and formats other than raw.
run 0 sh -c "cat raw | blksum --expect $sum"
[ "$(cat stdout)" = "-: OK" ] || fail "a pipe does not match"
run 1 sh -c "cat other | blksum -q --expect $sum -"
is $sum raw -f raw --progress=3 3> progress
grep -q -x 100/100 progress || fail "no progress"

requires_qemu
qemu-img convert -f raw -O qcow2 raw qcow2
qemu-img convert -f raw -O qcow2 other other.qcow2
is $sum qcow2
BLKSUM_DIRECT=0 is $sum qcow2
is $sum qcow2 -f qcow2
is_not $sum other.qcow2
is_not $sum qcow2 -f raw

requires_nbdkit file eval
# Bytes after the image are not read.
start_nbdkit eval get_size='echo 10485760' pread="
if [ \$4 -ge 8388608 ]; then echo EIO broken >&2; exit 1; fi
head -c \$((\$4 + \$3)) '$dir/raw' | tail -c \$3"
run 0 blksum --expect $sum --size 8m "$uri"
printf '%s\n' "$uri: OK" "$uri: 2097152 $unread" | cmp - stdout ||
  fail "the first bytes of the export do not match"
start_nbdkit file raw
is $sum "$uri"
start_nbdkit file other
is_not $sum "$uri"
start_evil_server raw error
run 2 blksum -q --expect $sum "$uri"
[ ! -s stdout ] || fail "printed a verdict"
stop_evil_server

requires_root
requires_program losetup
attach raw
is $sum "$device"
is_not $zeros "$device"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/python/hash-nbd.py prints the sum of blksum, for any size, digest and
# extents; only what the server says is zeros is not read.  After an error of the
# server there is no sum.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
requires_nbdkit eval file
requires_qemu
requires "$PYTHON" -c 'import nbd'

hash_nbd () {
  $python "$abs_top_srcdir/examples/python/hash-nbd.py" "$@"
}

# refuses_export REGEX [OPTION]...: there is no sum of $uri.
refuses_export () {
  regex=$1
  shift
  run 2 hash_nbd "$@" "$uri"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line on stderr"
  grep -q "^hash-nbd.py: nbd+unix:.*: .*$regex" "$dir/stderr" ||
    fail "does not say '$regex'"
}

make_image "$dir/image"
start_nbdkit file dir="$dir"
export=nbd+unix:///image?socket=$socket
for spec in sha256/64k sha256/4k/s64 sha512/1m/linear sha1/16k; do
  prints_sum "$(blksum --no-names -d "$spec" "$dir/image")" \
    hash_nbd -d "$spec" "$export"
done
prints_sum "$(reference "$dir/image")" hash_nbd --depth 1 "$export"
prints_sum "$(reference "$dir/image")" hash_nbd --no-extents "$export"
[ "$(cat "$dir/stdout")" = "$(reference "$dir/image")  $export" ] ||
  fail "not the line of blksum"
for size in 0 1 65535 262145 1000000; do
  head -c $size "$dir/image" > "$dir/part"
  prints_sum "$(reference "$dir/part")" \
    hash_nbd "nbd+unix:///part?socket=$socket"
done

# qemu-nbd replies with holes.
qemu-nbd -r -t --fork --pid-file="$dir/pid" -k "$dir/qemu.sock" -f raw "$dir/image"
kill_at_exit "$(cat "$dir/pid")"
for option in --depth=3 --no-extents; do
  prints_sum "$(reference "$dir/image")" \
    hash_nbd $option "nbd+unix:///?socket=$dir/qemu.sock"
done

# Holes that are not zeros are read, zeros that are no holes are not.
export image="$dir/image"
serve_extents () {
  start_nbdkit eval get_size='echo 8M' thread_model='echo parallel' \
    extents="echo 0 4M $1; echo 4M 4M $2" \
    pread='echo $4 >> $image.reads
           dd if=$image skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none'
  : > "$image.reads"
}
serve_extents hole ''
prints_sum "$(reference "$dir/image")" hash_nbd "$uri"
cp "$dir/image" "$dir/half"
truncate -s 4M "$dir/half" && truncate -s 8M "$dir/half"
for kind in zero hole,zero; do
  serve_extents '' $kind
  prints_sum "$(reference "$dir/half")" hash_nbd "$uri"
  [ "$(sort -n "$image.reads" | tail -n 1)" -lt 4194304 ] || fail "read zeros"
  prints_sum "$(reference "$dir/image")" hash_nbd --no-extents "$uri"
done

# 64 reads are in flight together.
truncate -s 16M "$dir/large"
start_evil_server "$dir/large" hold-64 "$dir/reached"
hash_nbd --depth 64 "$uri" > "$dir/stdout" 2> "$dir/stderr" &
hasher=$!
kill_at_exit $hasher
wait_until test -e "$dir/reached"
stop_evil_server
! wait $hasher || fail "succeeds without a reply"
[ ! -s "$dir/stdout" ] || fail "printed a sum"

start_evil_server "$dir/image" reverse
prints_sum "$(reference "$dir/image")" hash_nbd "$uri"
stop_evil_server
start_evil_server "$dir/image" extents-short 5000
prints_sum "$(reference "$dir/image")" hash_nbd "$uri"
stop_evil_server
start_evil_server "$dir/image" no-close
prints_sum "$(reference "$dir/image")" hash_nbd "$uri"
stop_evil_server
start_evil_server "$dir/image" extents-long
prints_sum "$(reference "$dir/image")" hash_nbd "$uri"
stop_evil_server
# refuses_fault REGEX FAULT...
refuses_fault () {
  message=$1
  shift
  for fault; do
    start_evil_server "$dir/image" $fault
    refuses_export "$message"
    stop_evil_server
  done
}
refuses_fault 'cannot read at offset [0-9]*: Protocol error' half none hole empty
refuses_fault 'cannot read at offset [0-9]*: Input/output error' error late-error
refuses_fault . simple-error long elsewhere cookie "die 3000" "die 5000000"
for fault in extents-zero extents-none extents-no-chunk extents-context \
             extents-error "extents-late-error 5000"; do
  start_evil_server "$dir/image" $fault
  refuses_export .
  prints_sum "$(reference "$dir/image")" hash_nbd --no-extents "$uri"
  stop_evil_server
done
start_evil_server "$dir/image" size 8388609
refuses_export 'cannot read'
stop_evil_server

uri=nbd+unix:///?socket=$dir/none
refuses_export 'No such file'
uri=$export
refuses_export ether -d ether/64k
run 2 hash_nbd --depth 0 "$export"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# If an NBD server breaks the protocol, by mistake or maliciously, blksum prints
# an error or the right sum, never another sum, and does not hang.

. "$(dirname "$0")/../functions.sh"
requires_nbd

# Larger than the data in flight, of an odd size, with zeros.
write_data "$dir/image" 0 9000001
write_zeros "$dir/image" 3000000 500000
sum=$(reference "$dir/image")

# fails REGEX FAULT...: blksum prints a matching error.
fails () {
  wanted=$1
  shift
  start_evil_server "$dir/image" "$@"
  refuses "socket=$socket: .*$wanted" timeout $limit blksum "$uri"
  refuses "socket=$socket: .*$wanted" timeout $limit blksum -t 1 \
          "$uri"
  stop_evil_server
}

# serves FAULT...: blksum prints the right sum.  The first connection can differ
# from the others.
serves () {
  for threads in 1 4; do
    start_evil_server "$dir/image" "$@"
    prints_sum "$sum" timeout $limit blksum -t $threads "$uri"
    stop_evil_server
  done
}

serves

# A reply that ends before all data was sent.
for fault in half none hole empty; do
  fails "cannot read at offset [0-9]*: Protocol error" $fault
done

# A reply with data that was not requested.
for fault in long elsewhere cookie; do
  fails "" $fault
done

# Error replies; simple replies are not permitted any more.
for fault in error late-error; do
  fails "cannot read at offset [0-9]*: Input/output error" $fault
done
fails "" simple-error

# Replies may come in any order.
serves reverse

# The connection ends, at the first request and later.
fails "lost the connection" die 0
fails "lost the connection" die 5000000

# Extents that are wrong.
fails "extent" extents-zero
fails "extent" extents-none
fails "no block status" extents-no-chunk
fails "no block status" extents-context

# Error replies to requests for extents: what is not known is read.
for fault in error "late-error 65536"; do
  # shellcheck disable=SC2086
  start_evil_server "$dir/image" extents-$fault
  run 0 timeout $limit blksum --no-names "$uri"
  [ "$(cat "$dir/stdout")" = "$sum" ] || fail "extents-$fault: wrong sum"
  says_once "socket=$socket: cannot get extents at offset [0-9]*: .*\
Input/output error; .*read as data"
  stop_evil_server
done

# One extent in each reply, some of them zeros.
serves extents-short 65536
serves extents-short 1000

# Extents beyond the request: libnbd 1.24 rejects them, older versions pass them
# on.
start_evil_server "$dir/image" extents-long
if timeout $limit blksum "$uri" > "$dir/out" 2> "$dir/err"; then
  [ "$(cut -d ' ' -f 1 "$dir/out")" = "$sum" ] || fail "extents-long: wrong sum"
else
  grep -q "cannot get extents" "$dir/err" || fail "extents-long: $(cat "$dir/err")"
fi
stop_evil_server

# A size that is negative as a signed number, and a size that is not that of the
# file.
fails "a size of 2^63 bytes or more" size 9223372036854775808
fails "a size of 2^63 bytes or more" size 18446744073709551615
fails "cannot read" size 9223372036854775807

# Block size constraints that are invalid: libnbd accepts some of them.
for sizes in 0,0,0 3,4096,65536 65536,4096,512 1,1,1 \
             4294967295,4294967295,4294967295 2147483648,65536,65536; do
  start_evil_server "$dir/image" block-size $sizes
  status=0
  echo "+ blksum $uri"
  timeout $limit blksum "$uri" > "$dir/stdout" 2> "$dir/stderr" ||
    status=$?
  case $status in
    0) [ "$(cut -d' ' -f1 < "$dir/stdout")" = "$sum" ] || fail "wrong sum" ;;
    2) [ ! -s "$dir/stdout" ] || fail "printed a sum"
       says_once "socket=$socket: " ;;
    *) fail "exit status $status" ;;
  esac
  stop_evil_server
done

# Connections after the first one.
for fault in second-hangs second-small second-gone; do
  serves $fault
done

# blksum does not wait for this server when all data was read.
serves no-close

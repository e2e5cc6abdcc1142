#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An NBD server that breaks the protocol, by mistake or on purpose: an error or
# the right sum, never the sum of something else, and no hang.

. "$(dirname "$0")/functions.sh"
requires_nbd

# Larger than what is in flight, of no size that is round, and with zeros.
write_data "$dir/image" 0 9000001
write_zeros "$dir/image" 3000000 500000
sum=$(reference "$dir/image")

# fails REGEX FAULT...
fails () {
  wanted=$1
  shift
  start_evil_server "$dir/image" "$@"
  refuses "socket=$socket: .*$wanted" timeout $limit blksum "$uri"
  refuses "socket=$socket: .*$wanted" timeout $limit blksum -t 1 \
          "$uri"
  stop_evil_server
}

# serves FAULT...  The first connection differs from the others.
serves () {
  for threads in 1 4; do
    start_evil_server "$dir/image" "$@"
    prints_sum "$sum" timeout $limit blksum -t $threads "$uri"
    stop_evil_server
  done
}

serves

# A reply that ends before all was there.
for fault in half none hole empty; do
  fails "cannot read at offset [0-9]*: Protocol error" $fault
done

# One of what was not asked for.
for fault in long elsewhere cookie; do
  fails "" $fault
done

# Errors; that of a simple reply is not allowed any more.
for fault in error late-error; do
  fails "cannot read at offset [0-9]*: Input/output error" $fault
done
fails "" simple-error

# Any order is allowed.
serves reverse

# The end, at once and in the middle.
fails "lost the connection" die 0
fails "lost the connection" die 5000000

# Extents.
fails "extent" extents-zero
fails "extent" extents-none
fails "no block status" extents-no-chunk
fails "no block status" extents-context
fails "extent" extents-error

# One in each answer, zeros among them; an error in a later answer.
serves extents-short 65536
serves extents-short 1000
fails "cannot get extents at offset [0-9]*: .*Input/output error" \
      extents-late-error 65536

# More than was asked for: libnbd 1.24 does not take it, older ones pass it on.
start_evil_server "$dir/image" extents-long
if timeout $limit blksum "$uri" > "$dir/out" 2> "$dir/err"; then
  [ "$(cut -d ' ' -f 1 "$dir/out")" = "$sum" ] || fail "extents-long: a sum"
else
  grep -q "cannot get extents" "$dir/err" || fail "extents-long: $(cat "$dir/err")"
fi
stop_evil_server

# A size that is a negative number in C, and one that the file has not.
fails "size" size 9223372036854775808
fails "size" size 18446744073709551615
fails "cannot read" size 9223372036854775807

# Sizes of requests that make no sense: libnbd overlooks them, or not.
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

# Connections besides the first.
for fault in second-hangs second-small second-gone; do
  serves $fault
done

# It is not waited for when all has been read.
serves no-close

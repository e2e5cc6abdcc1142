#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# It is an error if standard output is full or closed; other standard
# descriptors may be closed.

. "$(dirname "$0")/../functions.sh"

make_image "$dir/image"
sum=$(reference "$dir/image")

# A device that is always full.
requires test -c /dev/full
to_full () { "$@" > /dev/full; }
refuses "write error: No space left" to_full blksum "$dir/image"
refuses "write error: No space left" to_full blksum --output=json "$dir/image"
refuses "write error: No space left" to_full blksum --list-digests
refuses "write error: No space left" to_full blksum --help
refuses "write error: No space left" to_full blksum --version

to_closed () { "$@" >&-; }
refuses "write error: " to_closed blksum "$dir/image"
refuses "write error: " to_closed blksum --list-digests
[ "$(reference "$dir/image")" = "$sum" ] || fail "wrote into the image"

# Standard output has no reader: blksum ends by SIGPIPE, as any program.
mkfifo "$dir/fifo" "$dir/gone"
to_gone_reader () {
  (read -r _ < "$dir/gone"; exec "$@") > "$dir/fifo" &
  : < "$dir/fifo"
  echo > "$dir/gone"
  wait $!
}
run 141 to_gone_reader blksum "$dir/image"
run 141 to_gone_reader blksum --manifest - "$dir/image"
[ ! -s "$dir/stderr" ] || fail "unexpected message"
run 141 to_gone_reader blkhash --help
run 141 to_gone_reader blkhash compare --help
# A manifest of a pipe goes to a temporary file first.
mkfifo "$dir/image-fifo"
cat "$dir/image" > "$dir/image-fifo" &
run 141 to_gone_reader blksum --manifest - "$dir/image-fifo"
[ ! -s "$dir/stderr" ] || fail "unexpected message"

# Closed stdin, stderr, all of them.  valgrind does not start without stderr.
no_stdin () { "$@" <&-; }
no_stderr () { "$@" 2>&-; }
nothing () { "$@" <&- >&- 2>&-; }
prints_sum "$sum" no_stdin blksum "$dir/image"
refuses "-: " no_stdin blksum
if [ -z "$wrapper" ]; then
  prints_sum "$sum" no_stderr blksum "$dir/image"
  run 2 no_stderr blksum "$dir/missing"
  [ ! -s "$dir/stdout" ] || fail "the message went to stdout"
  run 2 nothing blksum "$dir/image"
fi

requires_qemu
qemu-img convert -f raw -O qcow2 "$dir/image" "$dir/qcow2"
refuses "write error: No space left" to_full blksum "$dir/qcow2"
prints_sum "$sum" no_stdin blksum "$dir/qcow2"
if [ -z "$wrapper" ]; then
  prints_sum "$sum" no_stderr blksum "$dir/qcow2"
  run 2 nothing blksum "$dir/qcow2"
fi

# It ends at once, and does not wait for other images that are being read.
head -c 4M "$dir/image" > "$dir/small"
truncate -s 64k "$dir/raw"
qemu-img convert -f raw -O qcow2 "$dir/raw" "$dir/stalled"
printf '#!/bin/sh\nexec sleep 1000\n' > "$dir/bin/qemu-nbd"
chmod +x "$dir/bin/qemu-nbd"
run 141 to_gone_reader timeout $limit blksum "$dir/small" "$dir/stalled"
[ ! -s "$dir/stderr" ] || fail "unexpected message"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit's cache filter keeps what clients write, and passes on the extents of
# the plugin, which says that there is a hole.  What clients wrote is not zero
# because extents say so.

. "$(dirname "$0")/hold-functions.sh"
requires_nbdkit --filter=cache

size=1m
parameter=blkhash-missing=read
names=-
content=$dir/content

# put STRING OFFSET LEN: what clients write, in $content.
put () {
  head -c "$3" /dev/zero | tr '\0' "$1" |
    dd of="$content" bs=64k seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# cached CODE: what the clients of CODE make is in $content.
cached () {
  for cache in writeback unsafe writethrough; do
    rm -f "$dir/disk"
    truncate -s $size "$dir/disk"
    serve --filter=cache "$snapshot" cache=$cache file="$dir/disk" \
          hold="$dir/hold" blkhash-file="$sums" $parameter
    clients "$1"
    stop
    right_or_none $names
  done
}

truncate -s 1m "$content"
put x 32768 131072

# Two writes in flight over the same block.  The first is held while the cache
# reads what it does not write, and the second waits behind it.
cached 'h = connect()
hold = Hold("pread")
write(h, b"x" * 131072, 32768)
hold.wait()
write(h, b"x" * 131072, 32768)
logged("cache: pwrite", 2)
hold.release()
wait(h)
h.shutdown()'

# Writes of zeros into blocks that are known.
put x 0 163840
for offset in 0 5 70000; do
  put '\0' $offset 1
done
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
for offset in 0, 5, 70000:
    h.pwrite(bytes(1), offset)
h.shutdown()'

# The same after a sum, by another client.
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.shutdown()
logged("snapshot: close")
h = connect()
for offset in 0, 5, 70000:
    h.pwrite(bytes(1), offset)
h.shutdown()'

# A client that asks for the extents of what was written.
put x 0 163840
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.pwrite(b"x", 0)
h.block_status(1 << 20, 0, lambda *_: 0)
h.shutdown()'
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.block_status(1 << 20, 0, lambda *_: 0)
h.shutdown()'

# Another name of the disk.
names="- other"
cached 'h = connect()
other = connect("other")
h.pwrite(b"x" * 163840, 0)
h.shutdown()
logged("snapshot: close")
other.pread(1, 200000)
other.block_status(1 << 20, 0, lambda *_: 0)
other.shutdown()'
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.shutdown()
other = connect("other")
other.pread(1, 200000)
other.block_status(1 << 20, 0, lambda *_: 0)
other.shutdown()'
names=-

# Where something is missing, too.
put '\0' 0 1
parameter=blkhash-missing=fail
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.pwrite(bytes(1), 0)
h.shutdown()'
parameter=blkhash-missing=read

# More pieces of blocks than are kept.
size=96m
rm "$content"
truncate -s $size "$content"
for i in 0 1 2 3 4 5; do
  put x $((i * 16777216)) 1
done
parameter=blkhash-block-size=16m
hash_options="-b 16m"
cached 'h = connect()
for i in range(6):
    h.pwrite(b"x", i << 24)
h.shutdown()'

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# nbdkit's cache filter keeps writes, and passes on the extents of the plugin,
# which reports a hole there.  It passes trims on, and keeps its own copy of
# trimmed blocks.  In neither case may an extents reply prove zeros.

. "$(dirname "$0")/../hold-functions.sh"
requires_nbdkit --filter=cache

size=1m
parameter=blkhash-missing=read
names=-
content=$dir/content

# put STRING OFFSET LEN: writes to $content what the clients write.
put () {
  head -c "$3" /dev/zero | tr '\0' "$1" |
    dd of="$content" bs=64k seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# cached CODE: the disk has $content after the clients of CODE.
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

# Two writes in flight in the same block.  The first is held while the cache
# filter reads the rest of the block; the second waits for it.
cached 'h = connect()
hold = Hold("pread")
write(h, b"x" * 131072, 32768)
hold.wait()
write(h, b"x" * 131072, 32768)
logged("cache: pwrite", 2)
hold.release()
wait(h)
h.shutdown()'

# The same in a last block that is shorter.
size=96k
rm "$content"
truncate -s $size "$content"
put x 65536 32768
cached 'h = connect()
hold = Hold("pread")
write(h, b"x" * 32768, 65536)
hold.wait()
write(h, b"x" * 32768, 65536)
logged("cache: pwrite", 2)
hold.release()
wait(h)
h.shutdown()'
size=1m
rm "$content"
truncate -s $size "$content"

# Zeros are written to blocks whose content is known.
put x 0 163840
for offset in 0 5 70000; do
  put '\0' $offset 1
done
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
for offset in 0, 5, 70000:
    h.pwrite(bytes(1), offset)
h.shutdown()'

# The same after a sum was published, by another client.
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.shutdown()
logged("snapshot: closed")
h = connect()
for offset in 0, 5, 70000:
    h.pwrite(bytes(1), offset)
h.shutdown()'

# A client queries the extents of what was written.
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

# The same by another name of the disk.
names="- other"
cached 'h = connect()
other = connect("other")
h.pwrite(b"x" * 163840, 0)
h.shutdown()
logged("snapshot: closed")
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

# The same when other blocks are missing.
put '\0' 0 1
parameter=blkhash-missing=fail
cached 'h = connect()
h.pwrite(b"x" * 163840, 0)
h.pwrite(bytes(1), 0)
h.shutdown()'
parameter=blkhash-missing=read

# More partial blocks than fit in memory.
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

# trimmed CODE PARAMETER...: the next client sees $content.  This plugin reports
# a hole, which that of hold-functions.sh never does.
trimmed () {
  code=$1
  shift
  rm -f "$dir/disk"
  write_data "$dir/disk" 0 262144
  serve --filter=cache file "$dir/disk" blkhash-file="$sums" "$@"
  clients "h = connect()
$code
h.shutdown()
logged('blkhash: close')
with open('$dir/first', 'w') as f: f.write(sums())
h = connect()
with open('$content', 'wb') as f: f.write(h.pread(262144, 0))
h.shutdown()"
  stop
  right_or_none
  mv "$dir/first" "$sums"
  right_or_none
}

hash_options=
trimmed 'h.pread(262144, 0)
h.trim(65536, 65536)' cache-on-read=true
trimmed 'h.pread(65536, 0)
h.trim(65536, 0)
h.pread(65536, 0)
h.block_status(262144, 0, lambda *_: 0)' cache-on-read=true
hash_options="-b 4k"
trimmed 'h.pwrite(b"x" * 512, 0)
h.trim(61440, 4096)' blkhash-block-size=4k

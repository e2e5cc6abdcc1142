#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The filter works with common plugins.

. "$(dirname "$0")/../filter-functions.sh"

# reads PLUGIN ARGUMENT...: the sum of a copy of the plugin's disk is right.
reads () {
  if ! nbdkit "$1" --version > /dev/null 2>&1; then
    echo "not here: $1"
    return
  fi
  serve "$@" blkhash-file="$sums"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/copy"
  stop
}

# writes PLUGIN ARGUMENT...: so is that of a disk that is written.
writes () {
  reads "$@"
  serve "$@" blkhash-file="$sums"
  client "" 'h.pwrite(b"first" * 20000, 0)
h.pwrite(b"second" * 20000, h.get_size() - 120001)
if h.can_zero(): h.zero(70000, 65536)'
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/copy"
  stop
}

make_image "$dir/image"
mkdir -p "$dir/files/more"
head -c 100000 "$dir/image" > "$dir/files/begin.raw"
echo text > "$dir/files/more/text"
writes file "$dir/image"
writes memory 3m
writes memory 3000001 allocator=malloc
writes data '@0x20000 "blkhash" * 20000 @0x200000 1' size=3m
reads null 1m
reads pattern 5000000
reads sparse-random 64m seed=1
reads zero
reads partitioning "$dir/image"
reads floppy "$dir/files"
head -c 3000000 "$dir/image" > "$dir/1"
dd if="$dir/image" of="$dir/2" bs=3000000 skip=1 status=none
# nbdkit 1.32 crashes if a client queries extents of less than a sector.
reads split "$dir/1" "$dir/2"
if mke2fs -V > /dev/null 2>&1; then
  reads linuxdisk "$dir/files"
fi

# The plugin is a client of another server.
nbdkit -U "$dir/below.sock" -P "$dir/below.pid" file "$dir/image"
wait_until test -s "$dir/below.pid"
kill_at_exit "$(cat "$dir/below.pid")"
writes nbd socket="$dir/below.sock"
writes nbd socket="$dir/below.sock" shared=true
sum_of_file=$(reference "$dir/image")
has_line "$(sum_line "$sum_of_file")" || fail "the sum is not that of the file"

# Script plugins serve one request at a time.  Shells do not run with a
# sanitizer.
[ "$SANITIZE" = no ] || exit 0
export image="$dir/image"
writes eval get_size='stat -c %s $image' \
       pread='dd if=$image skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
       pwrite='dd of=$image seek=$4 oflag=seek_bytes conv=notrunc status=none'
cat > "$dir/script" << 'END'
#!/bin/sh
case $1 in
  get_size) stat -c %s "$image" ;;
  can_write) exit 0 ;;
  pread) dd if="$image" skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none ;;
  pwrite) dd of="$image" seek=$4 oflag=seek_bytes conv=notrunc status=none ;;
  *) exit 2 ;;
esac
END
chmod +x "$dir/script"
writes sh "$dir/script"

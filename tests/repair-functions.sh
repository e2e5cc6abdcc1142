# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of blkhash repair.

# can_repair: can files in $dir be repaired?  Not on all file systems.
can_repair () {
  head -c 65536 /dev/zero > "$dir/tmp/probe"
  blksum --manifest "$dir/tmp/probe.blkm" "$dir/tmp/probe" > "$dir/tmp/probe.out"
  ! blkhash repair --manifest "$dir/tmp/probe.blkm" --sum none \
      --from /dev/null/none "$dir/tmp/probe" 2>&1 |
    grep "probe: cannot be repaired"
}

# Skip the test if they cannot.
requires_direct () {
  can_repair || skip "files here cannot be repaired: see above"
}

# requires_loop: loop devices can be set up.  valgrind warns of their ioctls, which it
# does not know.
requires_loop () {
  requires_root
  requires_program losetup
  VALGRIND_OPTS=--sim-hints=lax-ioctls
  export VALGRIND_OPTS
}

# attach_direct FILE [OPTION]...: attach, with direct I/O.
attach_direct () {
  attach --direct-io=on "$@"
}

# make_good FILE: a disk of 4 MiB and 4 KiB, in blocks of 64 KiB: 0 to 23 are data,
# 24 to 39 are zeros, 40 to 64 are data, and the last one is short.
make_good () {
  rm -f "$1"
  truncate -s 4198400 "$1"
  write_data "$1" 0 1572864
  write_data "$1" 2621440 1576960
}

# damage_blocks SIZE FILE BLOCK...: changes some bytes within these blocks of SIZE
# bytes.
damage_blocks () {
  damaged_size=$1 damaged=$2
  shift 2
  for block; do
    printf damaged | dd of="$damaged" bs=1 seek=$((block * damaged_size + 50)) \
      conv=notrunc status=none
  done
}

# damage FILE BLOCK...: the same with blocks of 64 KiB.
damage () {
  damage_blocks 65536 "$@"
}

# make_manifest FILE: writes FILE.blkm, and sets $sum.
make_manifest () {
  sum=$(blksum --tag --no-names --manifest "$1.blkm" "$1")
}

# by_good ARGUMENT...: runs blksum to repair a disk by the manifest good.blkm.
by_good () {
  blkhash repair --manifest good.blkm --sum "$sum" --limit 50% "$@"
}

# repair STATUS OUTPUT ARGUMENT...: the same; the exit status must be STATUS, and the
# standard output OUTPUT.
repair () {
  wanted_status=$1 wanted_output=$2
  shift 2
  run "$wanted_status" by_good "$@"
  [ "$(cat "$dir/stdout")" = "$wanted_output" ] ||
    fail "does not print '$wanted_output'"
}

# is_silent: the last command wrote nothing to stderr.
is_silent () {
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
}

# same A B: they have the same content.
same () {
  cmp "$1" "$2" || fail "$1 is not $2"
}

# leaves_alone FILE COMMAND...: COMMAND neither changes FILE nor writes to it.
leaves_alone () {
  left=$1
  shift
  cp "$left" "$dir/before"
  touch -d 2001-01-01 "$left"
  "$@"
  same "$left" "$dir/before"
  [ "$(stat -c %Y "$left")" = "$(date -d 2001-01-01 +%s)" ] ||
    fail "$left was written"
}

# hold FILE [MODE]: starts a process that has FILE open for writing, or in another mode
# of Python, and takes no lock; sets $holder to its process id.
hold () {
  rm -f "$dir/held"
  "$PYTHON" -c 'import sys, time
disk = open(sys.argv[1], sys.argv[2])
print("open", flush=True)
time.sleep(600)' "$1" "${2:-r+b}" > "$dir/held" &
  holder=$!
  kill_at_exit $holder
  wait_until test -s "$dir/held"
}

# hold_lock FILE [BYTE]: starts a process that locks BYTE of FILE, as programs of qemu do:
# see tools/io/file.c; sets $holder to its process id.  The default is the lock of a
# reader that does not share FILE with writers.
hold_lock () {
  rm -f "$dir/held"
  "$PYTHON" -c 'import fcntl, struct, sys, time
disk = open(sys.argv[1], "rb")
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, int(sys.argv[2]), 1, 0)
fcntl.fcntl(disk, 37, lock)     # F_OFD_SETLK
print("locked", flush=True)
time.sleep(600)' "$1" "${2:-201}" > "$dir/held" &
  holder=$!
  kill_at_exit $holder
  wait_until test -s "$dir/held"
}

# release: ends the process that hold or hold_lock started.
release () {
  kill $holder
  wait $holder 2> /dev/null || :
}

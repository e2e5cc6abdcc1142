# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh by the tests of --repair-from.

# can_repair: can files in $dir be repaired?  Not on all file systems.
can_repair () {
  head -c 65536 /dev/zero > "$dir/tmp/probe"
  blksum --manifest "$dir/tmp/probe.blkm" "$dir/tmp/probe" > "$dir/tmp/probe.out"
  ! blksum --expect "manifest:$dir/tmp/probe.blkm" --expect-sum none \
      --repair-from /dev/null/none "$dir/tmp/probe" 2>&1 |
    grep "probe: cannot be repaired"
}

# Skip the test if they cannot.
requires_direct () {
  can_repair || skip "files here cannot be repaired: see above"
}

# make_good FILE: a disk of 4 MiB and 4 KiB, in blocks of 64 KiB: 0 to 23 are data,
# 24 to 39 are zeros, 40 to 64 are data, and the last one is short.
make_good () {
  rm -f "$1"
  truncate -s 4198400 "$1"
  write_data "$1" 0 1572864
  write_data "$1" 2621440 1576960
}

# damage FILE BLOCK...: changes some bytes within these blocks of 64 KiB.
damage () {
  damaged=$1
  shift
  for block; do
    printf damaged |
      dd of="$damaged" bs=1 seek=$((block * 65536 + 50)) conv=notrunc status=none
  done
}

# make_manifest FILE: writes FILE.blkm, and sets $sum.
make_manifest () {
  sum=$(blksum --tag --no-names --manifest "$1.blkm" "$1")
}

# repair STATUS OUTPUT ARGUMENT...: repairs a disk by the manifest good.blkm; the
# exit status is STATUS, and all of the standard output is OUTPUT.
repair () {
  wanted_status=$1 wanted_output=$2
  shift 2
  run "$wanted_status" blksum --expect manifest:good.blkm --expect-sum "$sum" \
    --repair-limit 50% "$@"
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

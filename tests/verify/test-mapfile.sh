#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The mapfile of the verify filter: ddrescue reads what is not good, and
# nbdkit's ddrescue filter serves what is.

. "$(dirname "$0")/../verify-functions.sh"

prove "$image"
cd "$dir"
cp "$image" disk
map=$dir/map

serve_map () {
  verify "$@" blkhash-verify-mapfile="$map" blkhash-verify-zero=extents
}

# map_is RANGE...: the mapfile has these ranges: START, SIZE, STATUS.
map_is () {
  {
    echo '# Mapfile. Created by nbdkit-blkhash-verify-filter'
    echo '# current_pos  current_status  current_pass'
    echo '0x00000000     ?               1'
    echo '#      pos        size  status'
    [ $# = 0 ] || printf '0x%08X  0x%08X  %s\n' "$@"
  } > wanted
  cmp -s wanted "$map"
}

wait_for_map () {
  becomes_true map_is "$@" || fail "$(diff wanted "$map")"
}

# Zeros are good when they are verified; bad and unreadable blocks are bad.
serve_map file disk
wait_for_map 0 8388608 '?'
client "" "$reads
right(512, 0)"
wait_for_map 0 65536 + 65536 8323072 '?'
flip disk 1048600
flip disk 1114112
client "" "$reads
fails(65536, 1048576)
fails(65536, 1114112)
right(65536, 983040)
right(2359296 - 1179648, 1179648)
right(65536, 5242880)
right(262144, 0)
right(65536, 8323072)"
wait_for_map 0 1048576 + 1048576 131072 - 1179648 7208960 +
stop
map_is 0 1048576 + 1048576 131072 - 1179648 7208960 + || fail "$(cat "$map")"
[ "$(ls map*)" = map ] || fail "left behind: $(ls map*)"

# nbdkit's ddrescue filter serves what is good, and nothing else.
if nbdkit --filter=ddrescue null --version > /dev/null 2>&1 &&
   [ "$SANITIZE" = no ]; then
  cat > reader << 'END'
import nbd, sys
truth = open(sys.argv[2], "rb").read()
h = nbd.NBD()
h.connect_uri(sys.argv[1])
assert h.pread(1048576, 0) == truth[:1048576]
assert h.pread(7208960, 1179648) == truth[1179648:]
for at in 1048576, 1048576 + 131071, 1179647:
    try:
        h.pread(1, at)
        assert False, at
    except nbd.Error:
        pass
END
  run 0 nbdkit -U - --filter=ddrescue file disk ddrescue-mapfile="$map" \
      --run "$PYTHON reader \"\$uri\" image"
fi

# ddrescue goes on from it: it reads only what is not good.
if command -v ddrescue > /dev/null; then
  cp "$map" rescue.map
  cp disk rescued
  flip rescued 100
  run 0 ddrescue --force -r 1 image rescued rescue.map
  flip rescued 100
  cmp image rescued || fail "ddrescue did not repair it"
fi

# By default zeros are not verified.
verify file image blkhash-verify-mapfile="$map"
copy "$uri" copy
stop
map_is 0 262144 + 262144 720896 '?' 983040 1376256 + 2359296 2883584 '?' \
       5242880 65536 + 5308416 3014656 '?' 8323072 65536 + || fail "$(cat "$map")"

# The last block is short; an empty disk has no ranges.
head -c 100001 image > short
prove short
flip short 100000
serve_map file short blkhash-verify-fail=warn
copy "$uri" copy
stop
map_is 0 65536 + 65536 34465 - || fail "$(cat "$map")"
: > short
prove short
serve_map file short
run 0 nbdinfo "$uri"
stop
map_is || fail "$(cat "$map")"

# There are more ranges than lines: the rest is not tried.
[ -z "$wrapper" ] || exit 0
"$PYTHON" -c '
for i in range(110000): print("%07d" % i if i % 2 else "\0" * 7)' > many
"$PYTHON" - << 'END'
with open("wrong", "wb") as f, open("many", "rb") as g:
    data = bytearray(g.read())
    for i in range(0, len(data), 16): data[i + 8] ^= 1
    f.write(data)
END
blksum -b 8 --tag --no-names --manifest many.blkm many > many.sum
serve file wrong blkhash-verify-manifest=many.blkm \
      blkhash-verify-sum="$(cat many.sum)" blkhash-verify-fail=warn \
      blkhash-verify-mapfile="$map"
copy "$uri" copy
stop
[ "$(wc -l < "$map")" = 100005 ] || fail "$(wc -l "$map")"
[ "$(tail -n 2 "$map")" = "0x000C34F8  0x00000008  -
0x000C3500  0x00013880  ?" ] || fail "$(tail -n 2 "$map")"

# Other files are not replaced, those of ddrescue neither.
[ "$SANITIZE" = no ] || exit 0
echo '# Mapfile. Created by GNU ddrescue version 1.27' > theirs
cp theirs kept
refuses_to_start "is not a mapfile of this filter: it is not replaced" \
    file disk blkhash-verify-manifest="$manifest" blkhash-verify-sum=none \
    blkhash-verify-mapfile=theirs
cmp kept theirs || fail "it was changed"

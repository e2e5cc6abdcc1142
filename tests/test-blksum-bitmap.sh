#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --update --bitmap reads what a dirty bitmap of qemu says has changed, and comes
# to the sum of a run that reads all.

. "$(dirname "$0")/functions.sh"
requires_qemu
requires_program qemu-io nbdinfo
requires qemu-img bitmap --help

# serve ARGUMENT...: a qemu-nbd; sets $uri and $server.
serve () {
  servers=$((servers + 1))
  socket=$dir/qemu$servers.sock
  echo "+ qemu-nbd $*"
  qemu-nbd --fork --pid-file="$socket.pid" -k "$socket" "$@" \
    > "$socket.log" 2>&1 || fail "qemu-nbd: $(cat "$socket.log")"
  server=$(cat "$socket.pid")
  kill_at_exit "$server"
  uri=nbd+unix:///?socket=$socket
}

# stop SIGNAL
stop () {
  kill "-$1" "$server"
  wait_until ended
}

ended () {
  ! is_ours "$server" || ! kill -0 "$server" 2> /dev/null
}

# updates SUM ARGUMENT...: from $dir/old, and reads at most $most bytes.
updates () {
  wanted_sum=$1
  shift
  run 0 blksum --output=json --update "$dir/old" --manifest "$dir/new" "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  grep -q "\"checksum\":\"$wanted_sum\"" "$dir/stdout" || fail "not $wanted_sum"
  grep -q '"incremental":true' "$dir/stdout" || fail "not incremental"
  was_read=$(sed 's/.*"read":\([0-9]*\).*/\1/' "$dir/stdout")
  [ "$was_read" -le "$most" ] || fail "$was_read bytes were read"
  cmp "$dir/new" "$dir/expected" || fail "another manifest"
  rm "$dir/new"
}

# OLD is a file that is standard input.
updates_from_stdin () {
  prints_sum "$new" blksum --update - --bitmap "$bitmap" \
    --manifest "$dir/new" "$1" < "$dir/old"
  cmp "$dir/new" "$dir/expected" || fail "another manifest"
  rm "$dir/new"
}

# refuses_update REGEX ARGUMENT...
refuses_update () {
  regex=$1
  shift
  refuses "$regex" blksum --update "$dir/old" --manifest "$dir/new" "$@"
  [ ! -e "$dir/new" ] || fail "published"
}

# 6 GiB, 3072 blocks of them data.
truncate -s 6g "$dir/raw"
i=0
while [ $i -lt 12 ]; do
  write_data "$dir/raw" $((i * 536870912)) 16777216
  i=$((i + 1))
done
image=$dir/image
qemu-img convert -O qcow2 "$dir/raw" "$image"
rm "$dir/raw"
blksum --manifest "$dir/old" "$image" > "$dir/sum"
old=$(cut -c 1-12 "$dir/sum")

# 1 % of the data is written again, and one of the holes.
bitmap=blk-$old
qemu-img bitmap --add -f qcow2 "$image" "$bitmap"
i=0
while [ $i -lt 30 ]; do
  echo "write -P $((i + 1)) $((i / 3 * 536870912 + i * 65536 * 7)) 64k"
  i=$((i + 1))
done > "$dir/writes"
echo "write -P 99 100000000 1" >> "$dir/writes"
qemu-io -f qcow2 "$image" < "$dir/writes" > "$dir/log"
blksum --manifest "$dir/expected" "$image" > "$dir/sum"
new=$(cut -d' ' -f1 "$dir/sum")
qemu-img convert -O raw "$image" "$dir/raw"
[ "$(reference "$dir/raw")" = "$new" ] || fail "not the sum of the reference"
rm "$dir/raw"

# 2 % of the data, and the audit: 99 of 98304 blocks.
most=$(((3072 / 50 + 99) * 65536))
serve -r -f qcow2 -B "$bitmap" -t -e 4 "$image"
updates "$new" --bitmap "$bitmap" "$uri"
updates "$new" --bitmap "$bitmap" --audit 0% -t 1 "$uri"
nbdinfo --json --map="qemu:dirty-bitmap:$bitmap" "$uri" > "$dir/list"
updates "$new" --changed "$dir/list" "$uri"
nbdinfo --json --map="qemu:dirty-bitmap:$bitmap" "$uri" |
  updates "$new" --changed - "$image"
most=$((6 * 1073741824))
updates "$new" --bitmap "$bitmap" --audit 100% "$uri"
updates "$new" --bitmap "$bitmap" --no-extents "$uri"

# What is not there, or something else.
refuses_update "no dirty bitmap 'x'; it has '$bitmap'" --bitmap x "$uri"
refuses "'$bitmap' records the changes since a different sum, not since $new" \
        blksum --update "$dir/expected" --bitmap "$bitmap" \
        --manifest "$dir/new" "$uri"
# Only then the manifest is read twice.
refuses "cannot read - twice" sh -c 'cat "$0" | blksum --update - "$@"' \
        "$dir/old" --bitmap "$bitmap" --manifest "$dir/new" "$uri"
updates_from_stdin "$uri"
refuses_update "is for NBD" --bitmap "$bitmap" "$image"
refuses_update "base:allocation\|no dirty bitmap has" --changed - "$uri" << END
$(nbdinfo --json --map "$uri")
END
run 2 blksum --bitmap "$bitmap" "$uri"
run 2 blksum --update "$dir/old" --bitmap "$bitmap" --changed "$dir/list" \
    --manifest "$dir/new" "$uri"
run 2 blksum --update "$dir/old" --bitmap "" --manifest "$dir/new" "$uri"
stop TERM

# A server that takes one connection, and ends with it.
serve -r -f qcow2 -B "$bitmap" "$image"
updates "$new" --bitmap "$bitmap" "$uri"
wait_until ended

# One without bitmaps.
serve -r -f qcow2 -t "$image"
refuses_update "no dirty bitmap '$bitmap': qemu-nbd offers it with -B" \
               --bitmap "$bitmap" "$uri"
stop TERM

# The host of the image crashed: the bitmap lost what was written last.
serve -f qcow2 -t "$image"
qemu-io -f raw -c "write -P 1 0 64k" -c flush "$uri" > "$dir/log"
stop KILL
run 1 qemu-nbd -r -k "$dir/no.sock" -f qcow2 -B "$bitmap" "$image"
grep -q inconsistent "$dir/stderr" || fail "qemu-nbd offers it"

# The trap of the manual: what was cut off by shrinking the image, and is zero
# after it has grown again, is not in the bitmap.  Only the audit finds it.
write_data "$dir/small" 0 4194304
qemu-img convert -f raw -O qcow2 "$dir/small" "$image"
blksum --manifest "$dir/old" "$image" > /dev/null
qemu-img bitmap --add -f qcow2 "$image" resized
qemu-img resize -q -f qcow2 --shrink "$image" 2m
qemu-img resize -q -f qcow2 "$image" 4m
run 1 blksum --expect "manifest:$dir/old" "$image"
serve -r -f qcow2 -B resized -t "$image"
run 0 blksum --update "$dir/old" --bitmap resized --audit 0% \
  --manifest "$dir/new" "$uri"
cmp "$dir/new" "$dir/old" ||
  fail "this qemu has it in the bitmap: the manual says that none has"
rm "$dir/new" "$dir/small"
run 1 blksum --update "$dir/old" --bitmap resized --audit 100% \
  --manifest "$dir/new" "$uri"
says_once "block 32 (65536 bytes at 2097152) differs from $dir/old"
stop TERM

# A server that breaks the protocol: an error, or the right sum.
write_data "$dir/small" 0 9000001
blksum --manifest "$dir/old" "$dir/small" > "$dir/sum"
write_zeros "$dir/small" 130000 300000
blksum --manifest "$dir/expected" "$dir/small" > "$dir/sum"
new=$(cut -d' ' -f1 "$dir/sum")
for fault in "" -names -unlisted -short; do
  start_evil_server "$dir/small" bitmap$fault 130000+300000
  updates "$new" --bitmap evil "$uri"
  stop_evil_server
done

# More than was asked for: libnbd 1.24 does not take it, older ones pass it on.
start_evil_server "$dir/small" bitmap-beyond 130000+300000
if blksum --update "$dir/old" --bitmap evil --manifest "$dir/new" "$uri" \
     > "$dir/stdout" 2> "$dir/stderr"; then
  cmp "$dir/new" "$dir/expected" || fail "another manifest"
  rm "$dir/new"
else
  says_once "cannot read the dirty bitmap"
  [ ! -s "$dir/stdout" ] && [ ! -e "$dir/new" ] || fail "a sum"
fi
stop_evil_server

# The first bytes are the image.
for name in old expected; do
  mv "$dir/$name" "$dir/$name.whole"
done
head -c 5000000 "$dir/small" > "$dir/cut"
blksum --manifest "$dir/expected" "$dir/cut" > "$dir/sum"
write_data "$dir/cut" 0 430000
blksum --manifest "$dir/old" "$dir/cut" > /dev/null
start_evil_server "$dir/small" bitmap 130000+300000
updates "$(cut -d' ' -f1 "$dir/sum")" --size 5000000 --bitmap evil "$uri"
stop_evil_server
for name in old expected; do
  mv "$dir/$name.whole" "$dir/$name"
done

for fault in zero none no-chunk twice error denied; do
  start_evil_server "$dir/small" bitmap-$fault 130000+300000
  refuses_update "bitmap" --bitmap evil "$uri"
  stop_evil_server
done
start_evil_server "$dir/small" bitmap-names 130000+300000
refuses_update "no dirty bitmap 'x'; it has 'evil'" --bitmap x "$uri"
stop_evil_server

# It does not say all that changed.
start_evil_server "$dir/small" bitmap 0+100000
run 1 blksum --update "$dir/old" --bitmap evil --audit 100% \
    --manifest "$dir/new" "$uri"
[ ! -s "$dir/stdout" ] && [ ! -e "$dir/new" ] || fail "a sum"
says_once "block [2-6] (65536 bytes at "
stop_evil_server

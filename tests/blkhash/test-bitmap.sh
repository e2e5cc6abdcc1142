#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash update --bitmap reads the ranges that are dirty in a bitmap of qemu,
# and computes the same sum as a run that reads all.

. "$(dirname "$0")/../functions.sh"
requires_qemu
requires_program qemu-io nbdinfo
requires qemu-img bitmap --help

# serve ARGUMENT...: starts qemu-nbd; sets $uri and $server.
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
  wait_until has_ended "$server"
}

# updates SUM ARGUMENT...: updates $dir/old, and reads from $least to $most bytes.
least=0
updates () {
  wanted_sum=$1
  shift
  run 0 blkhash update --output=json "$dir/old" --manifest "$dir/new" "$@"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  grep -q "\"sum\":\"blk-[^:]*:$wanted_sum\"" "$dir/stdout" || fail "not $wanted_sum"
  was_read=$(sed 's/.*"read-bytes":\([0-9]*\).*/\1/' "$dir/stdout")
  [ "$was_read" -le "$most" ] && [ "$was_read" -ge "$least" ] ||
    fail "$was_read bytes were read"
  cmp "$dir/new" "$dir/expected" || fail "the manifest differs"
  rm "$dir/new"
}

# updates_from_stdin: the old manifest is standard input.
updates_from_stdin () {
  prints_sum "$new" blkhash update - --bitmap "$bitmap" \
    --manifest "$dir/new" "$1" < "$dir/old"
  cmp "$dir/new" "$dir/expected" || fail "the manifest differs"
  rm "$dir/new"
}

# refuses_update REGEX ARGUMENT...
refuses_update () {
  regex=$1
  shift
  refuses "$regex" blkhash update "$dir/old" --manifest "$dir/new" "$@"
  [ ! -e "$dir/new" ] || fail "a manifest was written"
}

# 6 GiB, with 3072 blocks of data.
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
least=$(((30 + 98) * 65536))
updates "$new" --bitmap "$bitmap" "$uri"
least=0
updates "$new" --bitmap "$bitmap" --audit 0% -t 1 "$uri"
nbdinfo --json --map="qemu:dirty-bitmap:$bitmap" "$uri" > "$dir/list"
updates "$new" --changed "$dir/list" "$uri"
nbdinfo --json --map="qemu:dirty-bitmap:$bitmap" "$uri" |
  updates "$new" --changed - "$image"
most=$((6 * 1073741824))
updates "$new" --bitmap "$bitmap" --audit 100% "$uri"
updates "$new" --bitmap "$bitmap" --no-extents "$uri"

# Bitmaps that do not exist or belong to another manifest; operands without
# bitmaps.
refuses_update "no dirty bitmap 'x'; it has '$bitmap'" --bitmap x "$uri"
refuses "'$bitmap' records the changes since a different sum, not since $new" \
        blkhash update "$dir/expected" --bitmap "$bitmap" \
        --manifest "$dir/new" "$uri"
# With --bitmap the manifest is read twice, so it cannot be a pipe.
refuses "-: it is read twice, and must be a file" \
        sh -c 'cat "$0" | blkhash update - "$@"' \
        "$dir/old" --bitmap "$bitmap" --manifest "$dir/new" "$uri"
updates_from_stdin "$uri"
refuses_update "is for NBD" --bitmap "$bitmap" "$image"
refuses_update "base:allocation\|no dirty bitmap has" --changed - "$uri" << END
$(nbdinfo --json --map "$uri")
END
run 2 blkhash update "$dir/old" --bitmap "$bitmap" --changed "$dir/list" \
    --manifest "$dir/new" "$uri"
run 2 blkhash update "$dir/old" --bitmap "" --manifest "$dir/new" "$uri"
stop TERM

# A server that accepts one connection, and ends with it.
serve -r -f qcow2 -B "$bitmap" "$image"
updates "$new" --bitmap "$bitmap" "$uri"
wait_until has_ended "$server"

# A server without bitmaps.
serve -r -f qcow2 -t "$image"
refuses_update "no dirty bitmap '$bitmap': qemu-nbd offers it with -B" \
               --bitmap "$bitmap" "$uri"
stop TERM

# The host of the image crashed: the bitmap does not have the last writes.
serve -f qcow2 -t "$image"
qemu-io -f raw -c "write -P 1 0 64k" -c flush "$uri" > "$dir/log"
stop KILL
run 1 qemu-nbd -r -k "$dir/no.sock" -f qcow2 -B "$bitmap" "$image"
grep -q inconsistent "$dir/stderr" || fail "qemu-nbd exports the bitmap"

# As the manual warns: data that was cut off when the image shrank, and reads as
# zeros after it has grown again, is not in the bitmap.  Only the audit detects
# it.
write_data "$dir/small" 0 4194304
qemu-img convert -f raw -O qcow2 "$dir/small" "$image"
blksum --manifest "$dir/old" "$image" > /dev/null
qemu-img bitmap --add -f qcow2 "$image" resized
qemu-img resize -q -f qcow2 --shrink "$image" 2m
qemu-img resize -q -f qcow2 "$image" 4m
run 1 blksum --expect "manifest:$dir/old" "$image"
serve -r -f qcow2 -B resized -t "$image"
run 0 blkhash update "$dir/old" --bitmap resized --audit 0% \
  --manifest "$dir/new" "$uri"
cmp "$dir/new" "$dir/old" ||
  fail "this qemu has it in the bitmap: the manual is out of date"
rm "$dir/new" "$dir/small"
run 1 blkhash update "$dir/old" --bitmap resized --audit 100% \
  --manifest "$dir/new" "$uri"
says "2097152 bytes at 2097152 differ from $dir/old; not in the dirty bitmap$" \
     "no manifest was written; hash the whole image"
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

# Extents beyond the request: libnbd 1.24 rejects them, older versions pass them
# on.
start_evil_server "$dir/small" bitmap-beyond 130000+300000
if blkhash update "$dir/old" --bitmap evil --manifest "$dir/new" "$uri" \
     > "$dir/stdout" 2> "$dir/stderr"; then
  cmp "$dir/new" "$dir/expected" || fail "the manifest differs"
  rm "$dir/new"
else
  says_once "cannot read the dirty bitmap"
  [ ! -s "$dir/stdout" ] && [ ! -e "$dir/new" ] || fail "printed a sum"
fi
stop_evil_server

# The image is the first bytes of the export.
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
start_evil_server "$dir/small" bitmap-gone 130000+300000
refuses_update "cannot connect: " --bitmap evil "$uri"
stop_evil_server
start_evil_server "$dir/small" bitmap-names 130000+300000
refuses_update "no dirty bitmap 'x'; it has 'evil'" --bitmap x "$uri"
stop_evil_server

# The bitmap does not have all changes.
start_evil_server "$dir/small" bitmap 0+100000
run 1 blkhash update "$dir/old" --bitmap evil --audit 100% \
    --manifest "$dir/new" "$uri"
[ ! -s "$dir/stdout" ] && [ ! -e "$dir/new" ] || fail "printed a sum"
says "327680 bytes at 131072 differ from $dir/old; not in the dirty bitmap$" \
     "no manifest was written; hash the whole image"
stop_evil_server

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --repair-from repairs NBD exports, and from NBD exports: servers that
# cannot write, fail, lie or do not answer.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_nbdkit file eval --filter=log --filter=error --filter=blocksize-policy --filter=multi-conn

cd "$dir"
requires_direct
make_good good
make_manifest good
cp good bad
damage bad 3 5 30 64

# stop: ends the server that was started last.
stop () {
  kill "$server"
  wait_for_exit "$server"
}

# ---- The disk is an export ----

# Only bad blocks are written.
cp bad disk
start_nbdkit --filter=log file disk logfile="$dir/log"
repair 0 "$uri: OK (4 blocks repaired)" --repair-from good "$uri"
is_silent
same disk good
grep -o ' Write.* offset=[0-9a-fx]* count=[0-9a-fx]*' log |
  sed 's/.*offset/offset/' > writes
cat > expected << END
offset=0x30000 count=0x10000
offset=0x50000 count=0x10000
offset=0x1e0000 count=0x10000
offset=0x400000 count=0x1000
END
diff -u expected writes || fail "other writes"
grep -q ' Flush' log || fail "no flush"
repair 0 "$uri: OK" --repair-from good "$uri"
stop

# connections LOG: how many connections were made.
connections () {
  grep -c ' Connect ' "$1"
}

# This server announces multi-conn, so several connections read: one for each thread.
# Only the first one writes, flushes and reads back.
cp bad disk
start_nbdkit --filter=log file disk logfile="$dir/log1"
repair 0 "$uri: OK (4 blocks repaired)" --threads 3 --repair-from good "$uri"
same disk good
[ "$(connections log1)" = 3 ] || fail "not three connections"
grep -E ' (Write|Flush|Read) ' log1 |
  sed -E 's/.* connection=([0-9]*) (Write|Flush|Read) .*/\1 \2/' > steps
sed -n '/Write/,$p' steps | grep -v '^1 ' && fail "another one after the first write"
stop

# One that does not announce it is read by one connection.
cp bad disk
start_nbdkit --filter=log --filter=multi-conn file disk multi-conn-mode=disable \
  logfile="$dir/log5"
repair 0 "$uri: OK (4 blocks repaired)" --threads 3 --repair-from good "$uri"
same disk good
[ "$(connections log5)" = 1 ] || fail "not one connection"
stop

# One that announces it, and whose connections have other contents: the first one, which
# writes, has only good blocks, and is slow, so that the others read most of the 65.
rm -f opened written
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" can_flush="exit 0" \
  can_multi_conn="exit 0" flush="exit 0" pwrite="touch $dir/written; exit 1" \
  open="echo >> $dir/opened; wc -l < $dir/opened" \
  pread="if [ \$2 = 1 ]; then
      sleep 0.1
      dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none
    else
      head -c \$3 /dev/zero | tr '\\0' x
    fi"
run 2 timeout $limit blksum --threads 3 --read-size 64k --expect manifest:good.blkm \
  --expect-sum "$sum" --repair-limit 100% --repair-from good "$uri"
says_once "$uri: changed meanwhile at offset [0-9]*: "
[ ! -e written ] || fail "it was written"
stop

# A good disk, and --dry-run, have no writes.
cp bad disk
start_nbdkit --filter=log file disk logfile="$dir/log2"
repair 1 "$uri: FAILED (4 blocks repairable)" --dry-run --repair-from good "$uri"
same disk bad
! grep -e ' Write' -e ' Flush' log2 || fail "--dry-run writes or flushes"
stop

# A server that cannot flush, if nothing is bad, too: what it returns can be only
# in its cache.
reads="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
writes="dd of=$dir/disk bs=64k seek=\$4 oflag=seek_bytes conv=notrunc status=none"
for content in good bad; do
  cp $content disk
  start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
    can_flush="exit 0" pread="$reads" pwrite="$writes" \
    flush="echo EIO >&2; exit 1"
  leaves_alone disk refuses "$uri: the server cannot flush what was written: " \
    by_good --repair-from good "$uri"
  stop
done
cp bad disk
rm -f flushed
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
  can_flush="exit 0" pread="$reads" pwrite="$writes" \
  flush="[ ! -e $dir/flushed ] || { echo EIO >&2; exit 1; }; : > $dir/flushed"
refuses "cannot flush what was written: .*; 4 blocks were written, and not verified" \
  by_good --repair-from good "$uri"
stop

# A server that says what is zero, and that is not true: all is read.
cp good disk
damage disk 30
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
  can_flush="exit 0" flush="exit 0" pread="$reads" pwrite="$writes" \
  can_extents="exit 0" \
  extents="echo 0 1572864; echo 1572864 1048576 hole,zero; echo 2621440 1576960"
repair 0 "$uri: OK (1 block repaired)" --repair-from good "$uri"
same disk good
stop

# Bytes that cannot be read can be good: nothing is written.
cp good disk
damage disk 64
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
  can_flush="exit 0" flush="exit 0" \
  pread="[ \$4 -ge 393216 ] || [ \$((\$4 + \$3)) -le 327680 ] ||
      { echo EIO >&2; exit 1; }
    $reads" pwrite="$writes"
leaves_alone disk refuses "$uri: cannot read at offset [0-9]*: " \
  by_good --repair-from good "$uri"
stop

# Servers that do not write, do not flush, or not these blocks.
cp bad disk
start_nbdkit -r file disk
refuses "cannot be written: the export is read-only" blksum -q \
  --expect manifest:good.blkm --expect-sum "$sum" --repair-from good "$uri"
repair 1 "$uri: FAILED (4 blocks repairable)" --dry-run --repair-from good "$uri"
stop
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
  pread="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none" \
  pwrite="echo written >> $dir/written; cat > /dev/null"
refuses "the server cannot flush" blksum -q \
  --expect manifest:good.blkm --expect-sum "$sum" --repair-from good "$uri"
[ ! -e written ] || fail "it was written"
stop
blksum -b 512 --manifest small.blkm good > stdout
cp good disk
damage disk 3
start_nbdkit --filter=blocksize-policy file disk blocksize-minimum=4096 \
  blocksize-error-policy=error
leaves_alone disk run 1 blksum --expect manifest:small.blkm --expect-sum none \
  --repair-limit 5% --repair-from good "$uri"
says_once "512 bytes at 196608 are bad, and cannot be written directly"
repair 0 "$uri: OK (1 block repaired)" --repair-from good "$uri"
same disk good
stop

# Adjacent small blocks, from different sources.
cp good disk
for block in 384 385; do
  cp good without-$block
  damage_blocks 512 without-$block $block
done
start_nbdkit file disk
for first in 384 385; do
  damage_blocks 512 disk 384 385
  run 0 blksum --expect manifest:small.blkm --expect-sum none \
    --repair-from without-$first --repair-from without-$((769 - first)) "$uri"
  [ "$(cat stdout)" = "$uri: OK (2 blocks repaired)" ] || fail "not repaired"
  same disk good
done
stop

# Writes that fail: before anything was written, and after some or all bytes.
cp bad disk
start_nbdkit --filter=error file disk error-pwrite=ENOSPC error-pwrite-rate=100%
refuses "cannot write at offset 196608: .*No space left on device$" \
  by_good --repair-from good "$uri"
same disk bad
stop
for part in 100 65536; do
  cp bad disk
  start_nbdkit eval get_size="echo 4198400" can_write="exit 0" \
    can_flush="exit 0" flush="exit 0" pread="$reads" \
    pwrite="head -c $part | $writes; echo EIO >&2; exit 1"
  refuses "cannot write at offset 196608: .*; 1 block was written, and not verified$" \
    by_good --repair-from good "$uri"
  ! cmp -s disk bad || fail "nothing was written"
  stop
done

# Writes that are lost.
cp bad disk
start_nbdkit eval get_size="echo 4198400" can_write="exit 0" can_flush="exit 0" \
  pread="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none" \
  pwrite="cat > /dev/null" flush="exit 0"
repair 1 "$uri: FAILED (4 blocks failed)" --repair-from good "$uri"
grep -q " 65536 bytes at 196608 were written, and are still bad" stderr ||
  fail "not said"
stop

# The first block of a batch arrives, the second does not: with blocks of 16 MiB
# each is a batch.
truncate -s 40m large
write_data large 0 200000
write_data large 20000000 200000
blksum -b 16m --manifest 16m.blkm large > stdout
cp large disk
damage disk 0 290 400
start_nbdkit eval get_size="echo 41943040" can_write="exit 0" can_flush="exit 0" \
  pread="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none" \
  pwrite="[ \$4 -lt 16777216 ] || { echo EIO >&2; exit 1; }
    dd of=$dir/disk bs=64k seek=\$4 oflag=seek_bytes conv=notrunc status=none" \
  flush="exit 0"
refuses "cannot write at offset 16777216: .*; 1 block was repaired before" blksum \
  --expect manifest:16m.blkm --expect-sum none --repair-limit 100% \
  --repair-from large "$uri"
cmp -n 16777216 disk large || fail "the first block was not repaired"
[ ! -s stdout ] || fail "a result"
printf 'damaged' | dd of=disk bs=1 seek=50 conv=notrunc status=none
run 2 blksum --output=json --expect manifest:16m.blkm --expect-sum none \
  --repair-limit 100% --repair-from large "$uri"
grep -q '"blocks":\[{"start":0,"length":16777216,"state":"repaired"}$' stdout ||
  fail "the first block is not in the result"

# The same with a first block that no source has.
cp large disk
cp large twin
damage disk 0 290 400
damage twin 0
run 2 blksum --expect manifest:16m.blkm --expect-sum none --repair-limit 100% \
  --repair-from twin "$uri"
says "$uri: 16777216 bytes at 0 are bad, and no source has them$" \
  "$uri: cannot write at offset 16777216: "
stop

# Another server at the same socket: the connection is lost, and not opened again.
# A source is held when the bad blocks are known.
start_nbdkit eval get_size="echo 4198400" \
  pread="touch $dir/reached; until [ -e $dir/go ]; do sleep 0.05; done
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
held=$uri
cp bad disk
cp bad other
cp bad other.before
start_nbdkit file disk
replaced=${uri#*socket=}
blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from "$held" "$uri" > stdout 2> stderr &
pid=$!
wait_until test -e reached
kill -KILL "$server"
wait_for_exit "$server"
rm -f "$replaced"
nbdkit -f -U "$replaced" -P "$dir/replaced.pid" file other &
kill_at_exit $!
wait_until test -s replaced.pid
touch go
status=0
wait $pid || status=$?
[ $status = 2 ] || fail "exit status $status"
says_once "$uri: \(cannot read at offset 196608\|lost the connection\)"
same other other.before
same disk bad
rm reached go

# ---- Sources are exports ----

# from STATUS OUTPUT SOURCE...: repairs a bad disk from these sources.
from () {
  wanted="$1 $2"
  shift 2
  cp bad disk
  sources=
  for source; do
    sources="$sources --repair-from $source"
  done
  repair "${wanted%% *}" "disk: ${wanted#* }" $sources disk
}

start_nbdkit file good
from 0 "OK (4 blocks repaired)" "$uri"
is_silent
same disk good
good_uri=$uri

# One that fails always, and one that fails in a block: only there the next is
# used.  A source is reported once.
start_nbdkit --filter=error file good error-pread-rate=100%
from 1 "FAILED (1 block repaired, 3 bad)" "$uri"
[ "$(grep -c "^blksum: nbd+unix:.*cannot read" stderr)" = 1 ] || fail "not once"
[ "$(grep -c "^blksum: disk: .* are bad, and no source has them$" stderr)" = 3 ] ||
  fail "not three ranges"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
says_once "cannot read"
same disk good
start_nbdkit eval get_size="echo 4198400" \
  pread="[ \$4 -ge 393216 ] || [ \$((\$4 + \$3)) -le 327680 ] || { echo EIO >&2; exit 1; }
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
from 1 "FAILED (3 blocks repaired, 1 bad)" "$uri"
grep -q "^blksum: disk: 65536 bytes at 327680 are bad" stderr || fail "another one"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
same disk good

# The second source is read only for blocks that the first does not have.
first=$uri
start_nbdkit --filter=log file good logfile="$dir/log3"
from 0 "OK (4 blocks repaired)" "$first" "$uri"
same disk good
grep ' Read ' log3 > reads
! grep -v ' offset=0x5[0-9a-f]\{4\} ' reads && [ -s reads ] || fail "other reads"
stop

# No source is read for a block that cannot be written.
cp good disk
damage disk 3
start_nbdkit --filter=log file good logfile="$dir/log4"
run 1 blksum --expect manifest:small.blkm --expect-sum none --repair-limit 5% \
  --repair-from "$uri" disk
says_once "disk: 512 bytes at 196608 are bad, and cannot be written directly"
! grep ' Read ' log4 || fail "it is read"
stop

# One that fails in 16 blocks in a row is given up.
damage bad 0 1 2 4 6 7 8 9 10 11 12 13 14 15 16 17 18 19
cp bad worse
cp good bad
damage bad 3 5 30 64
for failing in 15 16; do
  rm -f reads
  start_nbdkit eval get_size="echo 4198400" \
    pread="echo \$4 >> $dir/reads
      [ \$4 -ge $((failing * 65536)) ] || { echo EIO >&2; exit 1; }
      dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
  cp worse disk
  if [ $failing = 15 ]; then
    repair 1 "disk: FAILED (7 blocks repaired, 15 bad)" --repair-from "$uri" disk
    says "$uri: cannot read at offset " "disk: 983040 bytes at 0 are bad, "
  else
    repair 1 "disk: FAILED (1 block repaired, 21 bad)" --repair-from "$uri" disk
    says "$uri: cannot read at offset " \
      "$uri: could not be read in 16 blocks in a row, and is not used any more$" \
      "disk: 1310720 bytes at 0 are bad, " "disk: 4096 bytes at 4194304 are bad, "
    [ "$(sort -u -n reads | wc -l)" -le 22 ] || fail "it was read after that"
    cp worse disk
    repair 0 "disk: OK (22 blocks repaired)" --repair-from "$uri" \
      --repair-from "$good_uri" disk
    same disk good
  fi
  stop
done

# A source is not given up if it has a good block between those that fail: in one batch,
# and in several, because blocks of 16 MiB are read one by one.
eio="{ echo EIO >&2; exit 1; }"
start_nbdkit eval get_size="echo 4198400" \
  pread="[ \$4 -ge 1310720 ] || { [ \$4 -ge 655360 ] && [ \$4 -lt 720896 ]; } || $eio
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
cp worse disk
repair 1 "disk: FAILED (3 blocks repaired, 19 bad)" --repair-from "$uri" disk
says "$uri: cannot read at offset " "disk: 655360 bytes at 0 are bad, " \
  "disk: 589824 bytes at 720896 are bad, "
stop
truncate -s 288m wide wide.bad
for block in $(seq 0 17); do
  write_data wide $((block * 16777216)) 100
done
blksum -b 16m --manifest wide.blkm wide > stdout
start_nbdkit eval get_size="echo 301989888" \
  pread="[ \$4 -ge 251658240 ] && [ \$(( \$4 / 16777216 )) != 16 ] || $eio
    dd if=$dir/wide bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
run 1 blksum --expect manifest:wide.blkm --expect-sum none --repair-limit 100% \
  --repair-from "$uri" wide.bad
[ "$(cat stdout)" = "wide.bad: FAILED (2 blocks repaired, 16 bad)" ] ||
  fail "not repaired"
says "$uri: cannot read at offset " "wide.bad: 251658240 bytes at 0 are bad, " \
  "wide.bad: 16777216 bytes at 268435456 are bad, "
stop

# One that lies, and one whose blocks move.
start_nbdkit eval get_size="echo 4198400" \
  pread="head -c \$3 /dev/zero | tr '\\0' x"
from 1 "FAILED (1 block repaired, 3 bad)" "$uri"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
is_silent
same disk good

# One that violates the protocol.
for fault in half none long elsewhere die; do
  every 1 2 || continue
  start_evil_server good $fault 0
  from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
  same disk good
  stop_evil_server
done

# A server that ends at a read: blksum does not try to connect again for each block.
start_nbdkit eval get_size="echo 4198400" pread="kill -KILL \$PPID"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
says "$uri: lost the connection" "$uri: cannot connect"
same disk good

# One that has gone when it is needed: there is no server at the socket then.
refuses "nbd+unix://.*none: cannot connect" blksum --expect manifest:good.blkm \
  --expect-sum "$sum" --repair-from "nbd+unix:///?socket=$dir/none" disk

# One that does not answer is waited for, until a signal ends the command.
cp bad disk
start_evil_server good hold-read reached
blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from "$uri" disk > stdout 2> stderr &
pid=$!
wait_until test -e reached
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "exit status $status"
same disk bad
from 0 "OK (4 blocks repaired)" "$good_uri"

# ---- A qcow2 image, through qemu-nbd ----

requires_qemu
requires_program qemu-io
qemu-img convert -f raw -O qcow2 good disk.qcow2
qemu-io -f qcow2 -c "write -P 1 320k 512" -c "write -P 2 2m 64k" disk.qcow2 > io.log
qemu-nbd -t -k "$dir/qcow2.sock" -f qcow2 --pid-file "$dir/qcow2.pid" disk.qcow2 &
kill_at_exit $!
wait_until test -s qcow2.pid
# This server has one client at a time: another one would wait.
uri="nbd+unix:///?socket=$dir/qcow2.sock"
run 2 timeout $limit blksum --expect manifest:good.blkm --expect-sum "$sum" \
  --repair-limit 50% --repair-from "$uri" --size 4198400 "$uri"
says_once "$uri: is the disk that is to be repaired$"
run 0 by_good --repair-from good --size 4198400 "$uri"
grep -q ": OK (2 blocks repaired)$" stdout || fail "not repaired"
server=$(cat qcow2.pid)
stop
prints_sum "${sum##* }" blksum --size 4198400 disk.qcow2

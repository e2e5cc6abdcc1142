#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --repair-from repairs NBD exports, and from NBD exports: servers that
# cannot write, fail, lie or do not answer.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_nbdkit file eval --filter=log --filter=error --filter=blocksize-policy

cd "$dir"
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
offset=0x400000 count=0x64
END
diff -u expected writes || fail "other writes"
grep -q ' Flush' log || fail "no flush"
repair 0 "$uri: OK" --repair-from good "$uri"
stop

# A good disk, and --dry-run, have no writes.
cp bad disk
start_nbdkit --filter=log file disk logfile="$dir/log2"
repair 1 "$uri: FAILED (4 blocks repairable)" --dry-run --repair-from good "$uri"
same disk bad
! grep ' Write' log2 || fail "--dry-run writes"
stop

# A server that cannot flush, if nothing is bad, too: what it returns can be only
# in its cache.
reads="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
writes="dd of=$dir/disk bs=64k seek=\$4 oflag=seek_bytes conv=notrunc status=none"
for content in good bad; do
  cp $content disk
  start_nbdkit eval get_size="echo 4194404" can_write="exit 0" \
    can_flush="exit 0" pread="$reads" pwrite="$writes" \
    flush="echo EIO >&2; exit 1"
  leaves_alone disk refuses "$uri: the server cannot flush what was written: " \
    blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
    --repair-from good "$uri"
  stop
done
cp bad disk
rm -f flushed
start_nbdkit eval get_size="echo 4194404" can_write="exit 0" \
  can_flush="exit 0" pread="$reads" pwrite="$writes" \
  flush="[ ! -e $dir/flushed ] || { echo EIO >&2; exit 1; }; : > $dir/flushed"
refuses "cannot flush what was written: .*; 4 blocks were written, and not verified" \
  blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from good "$uri"
stop

# Bytes that cannot be read: block 5 until it is written, and block 9 never.
cp good disk
damage disk 64
start_nbdkit eval get_size="echo 4194404" can_write="exit 0" \
  can_flush="exit 0" flush="exit 0" \
  pread="for block in 5 9; do
      [ -e $dir/remapped ] && [ \$block = 5 ] ||
      [ \$4 -ge \$((block * 65536 + 65536)) ] ||
      [ \$((\$4 + \$3)) -le \$((block * 65536)) ] || { echo EIO >&2; exit 1; }
    done
    $reads" \
  pwrite="[ \$4 != 327680 ] || : > $dir/remapped; $writes"
repair 1 "$uri: FAILED (3 blocks repairable)" --dry-run --repair-from good "$uri"
refuses "more than 4.6% of its blocks are bad: 3 of the first" \
  blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 4.6% \
  --repair-from good "$uri"
[ ! -e remapped ] || fail "it was written"
repair 1 "$uri: FAILED (2 blocks repaired, 1 failed)" --repair-from good "$uri"
says_once "$uri: 65536 bytes at 589824 were written, and are still bad"
same disk good
repair 1 "$uri: FAILED (1 block failed)" --repair-from good "$uri"
stop

# Servers that do not write, do not flush, or not these blocks.
cp bad disk
start_nbdkit -r file disk
refuses "cannot be written: the export is read-only" blksum -q \
  --expect manifest:good.blkm --expect-sum "$sum" --repair-from good "$uri"
repair 1 "$uri: FAILED (4 blocks repairable)" --dry-run --repair-from good "$uri"
stop
start_nbdkit eval get_size="echo 4194404" can_write="exit 0" \
  pread="dd if=$dir/disk bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none" \
  pwrite="echo written >> $dir/written; cat > /dev/null"
refuses "the server cannot flush" blksum -q \
  --expect manifest:good.blkm --expect-sum "$sum" --repair-from good "$uri"
[ ! -e written ] || fail "it was written"
stop
start_nbdkit --filter=blocksize-policy file disk blocksize-minimum=4096 \
  blocksize-error-policy=error
refuses "multiples of 4096 bytes, and the last block has another length" \
  blksum -q --expect manifest:good.blkm --expect-sum "$sum" --repair-from good \
  --size 4194404 "$uri"
stop
truncate -s 4194304 good.4m
dd if=good of=good.4m bs=64k count=64 conv=notrunc status=none
blksum -b 512 --manifest small.blkm good.4m > stdout
blksum --manifest large.blkm good.4m > stdout
cp good.4m disk
damage disk 3
start_nbdkit --filter=blocksize-policy file disk blocksize-minimum=4096 \
  blocksize-error-policy=error
refuses "multiples of 4096 bytes, and blocks of the manifest have 512" \
  blksum -q --expect manifest:small.blkm --expect-sum none --repair-limit 5% \
  --repair-from good "$uri"
run 0 blksum --expect manifest:large.blkm --expect-sum none --repair-limit 5% \
  --repair-from good "$uri"
same disk good.4m
stop

# Writes that fail.
cp bad disk
start_nbdkit --filter=error file disk error-pwrite=ENOSPC error-pwrite-rate=100%
refuses "cannot write at offset 196608: .*No space left.*; 1 block was written, and not verified" blksum \
  --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from good "$uri"
same disk bad
stop

# Writes that are lost.
start_nbdkit eval get_size="echo 4194404" can_write="exit 0" can_flush="exit 0" \
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
stop

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
start_nbdkit eval get_size="echo 4194404" \
  pread="[ \$4 -ge 393216 ] || [ \$((\$4 + \$3)) -le 327680 ] || { echo EIO >&2; exit 1; }
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
from 1 "FAILED (3 blocks repaired, 1 bad)" "$uri"
grep -q "^blksum: disk: 65536 bytes at 327680 are bad" stderr || fail "another one"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
same disk good

# One that lies, and one whose blocks move.
start_nbdkit eval get_size="echo 4194404" \
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
  --repair-limit 50% --repair-from "$uri" --size 4194404 "$uri"
says_once "$uri: is the disk that is to be repaired$"
run 0 blksum --expect manifest:good.blkm --expect-sum "$sum" --repair-limit 50% \
  --repair-from good --size 4194404 "$uri"
grep -q ": OK (2 blocks repaired)$" stdout || fail "not repaired"
server=$(cat qcow2.pid)
stop
prints_sum "${sum##* }" blksum --size 4194404 disk.qcow2

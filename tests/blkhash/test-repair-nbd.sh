#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash repair repairs from NBD exports, by servers that fail, lie or do not
# answer.  An NBD export itself is not repaired.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
requires_nbdkit file eval --filter=log --filter=error

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

cp bad disk
start_nbdkit --filter=log file disk logfile="$dir/log"
leaves_alone disk refuses "$uri: an NBD export cannot be repaired, .*; repair the file" \
  by_good --from good "$uri"
! grep ' Connect ' log || fail "it was connected to"
stop
blksum -b 512 --manifest small.blkm good > stdout

# ---- Sources are exports ----

# from STATUS OUTPUT SOURCE...: repairs a bad disk from these sources.
from () {
  wanted="$1 $2"
  shift 2
  cp bad disk
  sources=
  for source; do
    sources="$sources --from $source"
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
from 1 "FAILED (1 block repaired, 3 without a source)" "$uri"
[ "$(grep -c "^blkhash: nbd+unix:.*cannot read" stderr)" = 1 ] || fail "not once"
[ "$(grep -c "^blkhash: disk: .* differ; no source has them$" stderr)" = 3 ] ||
  fail "not three ranges"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
says_once "cannot read"
same disk good
start_nbdkit eval get_size="echo 4198400" \
  pread="[ \$4 -ge 393216 ] || [ \$((\$4 + \$3)) -le 327680 ] || { echo EIO >&2; exit 1; }
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
from 1 "FAILED (3 blocks repaired, 1 without a source)" "$uri"
grep -q "^blkhash: disk: 65536 bytes at 327680 differ" stderr || fail "another one"
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
run 1 blkhash repair --manifest small.blkm --sum none --limit 5% \
  --from "$uri" disk
says_once "disk: 512 bytes at 196608 differ; they cannot be written directly"
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
    repair 1 "disk: FAILED (7 blocks repaired, 15 without a source)" --from "$uri" disk
    says "$uri: cannot read at offset " "disk: 983040 bytes at 0 differ; "
  else
    repair 1 "disk: FAILED (1 block repaired, 21 without a source)" --from "$uri" disk
    says "$uri: cannot read at offset " \
      "$uri: could not be read in 16 blocks in a row, and is not used any more$" \
      "disk: 1310720 bytes at 0 differ; " "disk: 4096 bytes at 4194304 differ; "
    [ "$(sort -u -n reads | wc -l)" -le 22 ] || fail "it was read after that"
    cp worse disk
    repair 0 "disk: OK (22 blocks repaired)" --from "$uri" \
      --from "$good_uri" disk
    same disk good
  fi
  stop
done

# A source is not given up if it has a good block between those that fail.
eio="{ echo EIO >&2; exit 1; }"
start_nbdkit eval get_size="echo 4198400" \
  pread="[ \$4 -ge 1310720 ] || { [ \$4 -ge 655360 ] && [ \$4 -lt 720896 ]; } || $eio
    dd if=$dir/good bs=64k skip=\$4 count=\$3 iflag=skip_bytes,count_bytes status=none"
cp worse disk
repair 1 "disk: FAILED (3 blocks repaired, 19 without a source)" --from "$uri" disk
says "$uri: cannot read at offset " "disk: 655360 bytes at 0 differ; " \
  "disk: 589824 bytes at 720896 differ; "
stop

# One that lies, and one whose blocks move.
start_nbdkit eval get_size="echo 4198400" \
  pread="head -c \$3 /dev/zero | tr '\\0' x"
from 1 "FAILED (1 block repaired, 3 without a source)" "$uri"
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
# It has no time to remove its directory in /tmp.
start_nbdkit eval get_size="echo 4198400" \
  pread="rm -r \"\$tmpdir\"; kill -KILL \$PPID"
from 0 "OK (4 blocks repaired)" "$uri" "$good_uri"
says "$uri: lost the connection" "$uri: cannot connect"
same disk good

# One that has gone when it is needed: there is no server at the socket then.
refuses "nbd+unix://.*none: cannot connect" blkhash repair --manifest good.blkm \
  --sum "$sum" --from "nbd+unix:///?socket=$dir/none" disk

# One that does not answer is waited for, until a signal ends the command.
cp bad disk
start_evil_server good hold-read reached
blkhash repair --manifest good.blkm --sum "$sum" --limit 50% \
  --from "$uri" disk > stdout 2> stderr &
pid=$!
wait_until test -e reached
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "exit status $status"
same disk bad
from 0 "OK (4 blocks repaired)" "$good_uri"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter repairs bad blocks from files: in flight, and on the plugin's
# disk.  What no source has fails as before; no good block is ever written.

. "$(dirname "$0")/verify-functions.sh"
prove "$image"
cd "$dir"
json=$dir/status

# damage FILE BLOCK...: changes a bit of these blocks, which have data.
damage () {
  file=$1
  shift
  for block in "$@"; do
    flip "$file" $((block * 65536 + 24))
  done
}

# status_is ASSERTION...: these are true, in Python; "e" is the only export.
status_is () {
  "$PYTHON" - "$json" "$@" > status.log 2>&1 << 'END'
import json, sys
e, = json.load(open(sys.argv[1]))["exports"]
def ranges(state):
    return [(r["offset"] // 65536, r["length"] // 65536)
            for r in e["bad-ranges"] if r["state"] == state]
for text in sys.argv[2:]:
    assert eval(text), (text, e)
END
}

final_status () {
  stop
  status_is "$@" || fail "not the status: $* $(cat status.log)"
}

repair () {
  verify "$@" blkhash-verify-status="$json" \
         blkhash-verify-file=result
}

# Two damaged twins are one good disk: the clients see no error.  The disk is
# still bad, and its bad blocks are counted.  They are logged once for all clients
# that are connected at the same time.
cp "$image" disk
cp "$image" twin
damage disk 2 17 18 80
damage twin 3 19 21
repair file disk blkhash-verify-repair=twin
client "" "$reads
other = connect('')
right(len(truth), 0)
h, other = other, h
right(len(truth), 0)
other.shutdown()"
logged 1 "blkhash-verify: 65536 bytes at 131072 are bad, and were repaired in \
flight"
copies
final_status 'e["result"] == "bad"' 'e["bad-bytes"] == 0' \
             'e["repaired-in-flight-bytes"] == 4 * 65536' \
             'ranges("repaired-in-flight") == [(2, 1), (17, 2), (80, 1)]' \
             'e["repaired-blocks"] == 0'
[ "$(cat result)" = '# bad -: 262144 bytes' ] || fail "$(cat result)"
cmp -s "$image" disk && fail "the disk was written"

# What no source has fails: sources that are damaged there, too short, or other
# disks.  They are read in their order, which does not matter for the result.
cp "$image" short
truncate -s $((17 * 65536 + 100)) short
damage twin 80
tr '\000-\377' '\001-\377\000' < "$image" > other
: > empty
for order in "short twin other empty" "empty other twin short"; do
  set --
  for source in $order; do
    set -- "$@" blkhash-verify-repair=$source
  done
  repair file disk "$@"
  client "" "$reads
fails(1, 80 * 65536)
fails(len(truth), 0)
right(80 * 65536, 0)
right(512, 17 * 65536)
right(len(truth) - 81 * 65536, 81 * 65536)"
  final_status 'ranges("bad") == [(80, 1)]' \
               'ranges("repaired-in-flight") == [(2, 1), (17, 2)]'
done

# A read that fails is repaired too, and a block that must be zero needs no
# source.  The source is cut while it is used, or fails.
cp "$image" twin
cp "$image" disk
flip disk 6000000
repair --filter=error file disk error-pread-rate=100% \
       blkhash-verify-zero=read blkhash-verify-repair=twin
copies --no-extents
client "" "$reads
for at in range(0, len(truth), 65536): right(65536, at)
open('twin', 'w').close()
fails(65536, 2 * 65536)
right(65536, 5963776)"
final_status 'e["repaired-in-flight-bytes"] == e["size"] - 65536' \
             'e["unreadable-repaired-in-flight-bytes"] == e["size"] - 65536' \
             'e["result"] == "incomplete"' \
             'ranges("unreadable") == [(2, 1)]'
[ "$(cat result)" = "# incomplete -: 8388608 bytes cannot be read" ] ||
  fail "$(cat result)"

# With "warn" a client that has closed its side of the connection, and waits for
# the reply, does not get a bad block that the source has.  The read is held
# until then.
cp "$image" disk
cp "$image" twin
damage disk 2
repair --filter=pause file disk pause-control="$pause" \
       blkhash-verify-fail=warn blkhash-verify-repair=twin
client "" "
import socket
buf = nbd.Buffer(65536)
pause()
read = h.aio_pread(buf, 2 * 65536)
while h.aio_get_direction() & nbd.AIO_DIRECTION_WRITE:
    h.poll(-1)
socket.socket(fileno=os.dup(h.aio_get_fd())).shutdown(socket.SHUT_WR)
resume()
try:
    while not h.aio_command_completed(read):
        h.poll(-1)
except nbd.Error as e:
    assert e.errnum == 5, e
    os._exit(0)
assert False, 'it was served'"
final_status 'ranges("bad") == [(2, 1)]'

# ---- On the disk ----

# Each write is one block that was bad, in the log of nbdkit below.
cp "$image" disk
cp "$image" twin
damage disk 2 17 18 80 20
damage twin 3 20
repair --filter=log file disk logfile=writes blkhash-verify-repair=twin \
       blkhash-verify-repair-write=true blkhash-verify-repair-limit=20%
client "" "$reads
assert h.is_read_only()
try:
    h.set_strict_mode(0)
    h.pwrite(b'x' * 512, 0)
except nbd.Error:
    pass
else:
    assert False, 'a client wrote'
import threading
def read_all():
    other = connect('')
    for block in range(0, len(truth), 65536):
        if block == 20 * 65536:
            continue
        assert other.pread(65536, block) == truth[block:block + 65536]
    other.shutdown()
threads = [threading.Thread(target=read_all) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
fails(512, 20 * 65536)"
final_status 'e["repaired-blocks"] == 4' 'ranges("bad") == [(20, 1)]' \
             'e["repaired-in-flight-bytes"] == 0' 'e["bad-bytes"] == 65536'
sed -n 's/.* Write .*offset=\(0x[0-9a-f]*\) count=\(0x[0-9a-f]*\) .*/\1 \2/p' \
  writes | sort > written
printf '0x%x 0x10000\n' $((2 * 65536)) $((17 * 65536)) $((18 * 65536)) \
       $((80 * 65536)) | sort > wanted
cmp wanted written || fail "not these writes: $(cat written) $(cat writes)"
grep -q ' Flush ' writes || fail "no flush: $(cat writes)"
! grep -e ' Zero ' -e ' Trim ' writes || fail "it zeroes or trims"
logged 1 "blkhash-verify: 65536 bytes at 131072 were bad, and were repaired"
cp "$image" expected
damage expected 20
cmp expected disk || fail "not the disk"

# All of it is good then, and nothing is written.
cp "$image" twin
repair --filter=log file disk logfile=writes blkhash-verify-repair=twin \
       blkhash-verify-repair-write=true blkhash-verify-zero=read
copies --no-extents
final_status 'e["result"] == "good"' 'e["repaired-blocks"] == 1'
cmp "$image" disk || fail "the disk is not the image"
[ "$(cat result)" = "blk-sha256/64k (-) = $(reference "$image")" ] ||
  fail "$(cat result)"
[ "$(grep -c ' Write ' writes)" = 1 ] || fail "$(cat writes)"

# A larger disk: what follows is not written.
damage disk 2 80
printf 'more' >> disk
cp disk larger
repair file disk blkhash-verify-size=truncate blkhash-verify-repair=twin \
       blkhash-verify-repair-write=true blkhash-verify-repair-limit=100%
copies
stop
[ "$(tail -c 4 disk)" = more ] || fail "data after the image was written"
truncate -s 8388608 disk
cmp "$image" disk || fail "the disk is not the image"

# A wrong disk is not overwritten: by default 1 % of the blocks of data, here one.
tr '\000-\377' '\001-\377\000' < "$image" > other
cp other disk
repair --filter=log file disk logfile=writes blkhash-verify-repair=twin \
       blkhash-verify-repair-write=true
copies
final_status 'e["repair-limit-reached"]' 'e["repaired-blocks"] == 1' \
             'e["verified-bytes"] == 65536' 'e["result"] == "bad"'
[ "$(grep -c ' Write ' writes)" = 1 ] || fail "$(cat writes)"
logged 1 "blkhash-verify: blkhash-verify-repair-limit limits the number of writes, \
failed ones included, to 1: bad blocks are only repaired in flight, and the disk may not \
be that of $manifest"
[ "$(cmp -l other disk | awk '{ print int(($1 - 1) / 65536) }' | uniq |
     wc -l)" = 1 ] || fail "more than one block was written"
cp other disk
repair file disk blkhash-verify-repair=twin blkhash-verify-repair-limit=100% \
       blkhash-verify-repair-write=true blkhash-verify-zero=read
client "" "$reads
right(len(truth), 0)"
# Blocks of zeros count as well, but the limit is a share of the others.
final_status 'e["repair-limit-reached"]' 'e["repaired-blocks"] == 27' \
             'e["repaired-in-flight-bytes"] == 101 * 65536'

# ---- What cannot be written ----

# cannot_connect REGEX ARGUMENT...
cannot_connect () {
  regex=$1
  shift
  verify "$@" blkhash-verify-repair=twin blkhash-verify-repair-write=true
  run 1 nbdinfo --size "$uri"
  grep -q -e "error: blkhash-verify-repair-write: $regex" "$log" ||
    fail "no message: $(grep error: "$log")"
  stop
}

damage disk 2
cp disk kept
cannot_connect "nbdkit was started with -r" -r file disk
cannot_connect "the plugin cannot write" pattern 8M
# A client cannot choose another disk of the plugin to be overwritten.
mkdir disks
cp "$image" disks/other
damage disks/other 2
cp disks/other kept-other
verify file dir=disks blkhash-verify-repair=twin \
       blkhash-verify-repair-write=true
run 1 nbdinfo --size "nbd+unix:///other?socket=$socket"
logged 1 "blkhash-verify: clients can use only the export ''"
stop
cmp kept-other disks/other || fail "it was written"

# The name "" is that of the client, also if a filter below gives it another.
if nbdkit --filter=exportname null --version > /dev/null 2>&1; then
  repair --filter=exportname file dir=disks default-export=other \
         blkhash-verify-repair=twin blkhash-verify-repair-write=true
  client "" "$reads
right(len(truth), 0)"
  stop
  cmp "$image" disks/other || fail "the default export was not repaired"
fi

# ---- At the start ----

[ "$SANITIZE" = no ] || exit 0
refuses () {
  regex=$1
  shift
  refuses_to_start "$regex" file disk blkhash-verify-manifest="$manifest" "$@"
}
refuses "blkhash-verify-repair: .*none: No such file" \
        blkhash-verify-sum=none blkhash-verify-repair=none
# A disk that cannot be written by nbdkit's user, or by anyone, or that a program of qemu
# uses.
check_refused () {
  refuses_to_start "blkhash-verify-repair-write: .*$2 $1" file "$2" \
    blkhash-verify-manifest="$manifest" blkhash-verify-sum="$tagged" \
    blkhash-verify-repair=twin blkhash-verify-repair-write=true
}
cp "$image" disk
chmod 444 disk
if [ "$(id -u)" != 0 ]; then
  check_refused "cannot be written" disk
else
  chmod 755 "$dir"
  run 1 timeout "$limit" nbdkit -f -U "$dir/refused.sock" -u nobody \
    --filter="$filter" file disk blkhash-verify-manifest="$manifest" \
    blkhash-verify-sum="$tagged" blkhash-verify-repair=twin \
    blkhash-verify-repair-write=true
  grep -q "blkhash-verify-repair-write: .*disk cannot be written" stderr ||
    fail "does not say why"
fi
chmod 644 disk
for byte in 101 201; do
  "$PYTHON" -c 'import fcntl, signal, struct, sys
disk = open("disk", "rb")
fcntl.fcntl(disk, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, int(sys.argv[1]), 1, 0))
open("locked", "w").close()
signal.pause()' $byte &
  holder=$!
  kill_at_exit $holder
  wait_until test -e locked
  check_refused "is in use by a program of qemu" disk
  kill -9 $holder
  wait $holder 2> /dev/null || :
  rm locked
done
# A device that is mounted, or that another program has for itself, is not written
# to.
cp "$image" disk
damage disk 2
if [ "$(id -u)" = 0 ] && device=$(loop_device disk); then
  at_exit "losetup -d $device"
  mkfifo held
  "$PYTHON" -c 'import os, signal, sys
os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
open("held", "w").close()
signal.pause()' "$device" &
  holder=$!
  kill_at_exit $holder
  cat held
  check_refused "is in use" "$device"
  kill -9 $holder
  wait $holder 2> /dev/null || :
  blockdev --setro "$device"
  check_refused "cannot be written" "$device"
  blockdev --setrw "$device"
  cp twin source
  verify file "$device" blkhash-verify-repair=source \
         blkhash-verify-repair-write=true
  copies
  stop
  cmp "$image" "$device" || fail "the device was not repaired"
fi
cp kept disk
ln -s disk link
ln disk hardlink
for file in disk link hardlink; do
  refuses "blkhash-verify-repair and file are the same file: .*$file" \
          blkhash-verify-sum=none blkhash-verify-repair=$file
done
mkfifo fifo
for file in fifo "$dir" /dev/null; do
  refuses "blkhash-verify-repair: .*: not a regular file or block device" \
          blkhash-verify-sum=none blkhash-verify-repair=$file
done
for share in 1 -1% 101% x% 1.0000001% %; do
  refuses "blkhash-verify-repair-limit: $share is not a number from 0 to 100" \
          blkhash-verify-sum=none blkhash-verify-repair-limit=$share
done
if "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write -d xxh64 "$image" \
    > xxh64.blkm && blksum -d xxh64 "$image" > stdout 2>&1; then
  refuses_to_start "the digest of .*xxh64.blkm detects only accidental" \
    file disk blkhash-verify-manifest=xxh64.blkm \
    blkhash-verify-sum="$(blksum --tag --no-names -d xxh64 "$image")" \
    blkhash-verify-repair=twin blkhash-verify-repair-write=true
fi
refuses "write needs a checksum in blkhash-verify-sum" blkhash-verify-sum=none \
        blkhash-verify-repair=twin blkhash-verify-repair-write=true
refuses "write needs blkhash-verify-repair or" blkhash-verify-sum="$tagged" \
        blkhash-verify-repair-write=true
refuses "unknown value: maybe" blkhash-verify-sum="$tagged" \
        blkhash-verify-repair-write=maybe
if grep -q "define HAVE_LIBNBD 1" "$abs_top_builddir/config.h"; then
  refuses "not an NBD URI: /srv/disk" blkhash-verify-sum=none \
          blkhash-verify-repair-uri=/srv/disk
fi
refuses "timeout needs blkhash-verify-repair-uri" blkhash-verify-sum=none \
        blkhash-verify-repair=twin blkhash-verify-repair-timeout=5
refuses "limit needs blkhash-verify-repair-write=true" blkhash-verify-sum=none \
        blkhash-verify-repair=twin blkhash-verify-repair-limit=5%
refuses "limit needs blkhash-verify-repair-write=true" \
        blkhash-verify-sum="$tagged" blkhash-verify-repair=twin \
        blkhash-verify-repair-limit=1% blkhash-verify-repair-write=false
refuses "timeout must be from 1 to 3600" blkhash-verify-sum=none \
        blkhash-verify-repair-timeout=0
refuses "same file" blkhash-verify-sum=none blkhash-verify-repair=twin \
        blkhash-verify-status=twin
set --
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
  set -- "$@" blkhash-verify-repair=twin
done
refuses "more than 16 repair sources" blkhash-verify-sum=none "$@"
mkdir manifests
for parameter in repair=twin repair-write=true repair-limit=5%; do
  refuses_to_start "are for a single disk: they cannot be used with" \
      file disk blkhash-verify-exports=manifests blkhash-verify-sum=none \
      blkhash-verify-$parameter
done
cmp "$image" twin || fail "the source was written"
cmp kept disk || fail "the disk was written"

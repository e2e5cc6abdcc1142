#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter repairs what it serves, from files.  What no source has
# fails as before, and nothing is written.

. "$(dirname "$0")/../verify-functions.sh"
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
def ranges(result):
    return [(r["start"] // 65536, r["length"] // 65536)
            for r in e["ranges"] if r["result"] == result]
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
# not changed, and its blocks that differ are counted.  They are logged once for
# all clients that are connected at the same time.
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
logged 1 "blkhash-verify: 65536 bytes at 131072 differ from $manifest; \
repaired for clients, not on the disk"
copies
final_status 'e["result"] == "differs"' 'e["differs-bytes"] == 0' \
             'e["repaired-bytes"] == 4 * 65536' \
             'ranges("repaired") == [(2, 1), (17, 2), (80, 1)]'
[ "$(without_header result)" = '# differs -: 262144 bytes' ] || fail "$(cat result)"
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
  final_status 'ranges("differs") == [(80, 1)]' \
               'ranges("repaired") == [(2, 1), (17, 2)]'
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
final_status 'e["repaired-bytes"] == e["size"] - 65536' \
             'e["unreadable-repaired-bytes"] == e["size"] - 65536' \
             'e["result"] == "unknown"' \
             'ranges("unreadable") == [(2, 1)]'
[ "$(without_header result)" = "# unknown -: 8388608 bytes cannot be read" ] ||
  fail "$(cat result)"

# With "warn" a client that has closed its side of the connection, and waits for
# the reply, does not get a bad block that the source has.  The read is held
# until then.  nbdkit can abort a wait of the filter: then the error is another,
# and the block may not have been verified.
cp "$image" disk
cp "$image" twin
damage disk 2
repair --filter=log --filter=pause file disk pause-control="$pause" \
       logfile="$dir/log" blkhash-verify-fail=warn blkhash-verify-repair=twin
client "" "
import errno, socket, time
buf = nbd.Buffer(65536)
pause()
read = h.aio_pread(buf, 2 * 65536)
while h.aio_get_direction() & nbd.AIO_DIRECTION_WRITE:
    h.poll(-1)
while 'Read' not in open('$dir/log').read():
    time.sleep(0.01)            # nbdkit has accepted the request
socket.socket(fileno=os.dup(h.aio_get_fd())).shutdown(socket.SHUT_WR)
resume()
try:
    while not h.aio_command_completed(read):
        h.poll(-1)
except nbd.Error as e:
    assert e.errnum in (errno.EIO, errno.ESHUTDOWN), e
    if e.errnum == errno.ESHUTDOWN:
        open('aborted', 'w').close()
    os._exit(0)
assert False, 'it was served'"
if [ -e aborted ]; then
  final_status 'ranges("differs") in ([], [(2, 1)])' 'e["verified-bytes"] == 0'
else
  final_status 'ranges("differs") == [(2, 1)]'
fi

cp disk kept

# ---- At the start ----

[ "$SANITIZE" = no ] || exit 0
refuses () {
  regex=$1
  shift
  refuses_to_start "$regex" file disk blkhash-verify-manifest="$manifest" "$@"
}
refuses "blkhash-verify-repair: .*none: No such file" \
        blkhash-verify-sum=none blkhash-verify-repair=none
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
refuses "same file" blkhash-verify-sum=none blkhash-verify-repair=twin \
        blkhash-verify-status=twin
set --
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
  set -- "$@" blkhash-verify-repair=twin
done
refuses "more than 16 repair sources" blkhash-verify-sum=none "$@"
mkdir manifests
refuses_to_start "are for a single disk: they cannot be used with" \
  file disk blkhash-verify-manifest-dir=manifests blkhash-verify-sum=none \
  blkhash-verify-repair=twin
# The filter has no parameter to write to the disk.
refuses "unknown parameter 'blkhash-verify-repair-write'" \
        blkhash-verify-sum=none blkhash-verify-repair-write=true
cmp "$image" twin || fail "the source was written"
cmp kept disk || fail "the disk was written"

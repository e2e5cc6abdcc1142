#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The verify filter with a manifest for each export: clients choose names, and
# get only what has a manifest with the right sum.

. "$(dirname "$0")/../verify-functions.sh"

cd "$dir"
mkdir disks blkm
cp "$image" disks/a
head -c 3000000 "$image" > 'disks/two words'
head -c 100001 /dev/urandom > disks/c
truncate -s 1000000 disks/zeros
cp disks/c disks/no-sum
cp disks/c disks/no-manifest
cp disks/c disks/wrong-sum
cp disks/c disks/link
for name in a 'two words' c zeros no-sum wrong-sum; do
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "disks/$name" \
    > "blkm/$name.blkm"
done
ln -s c.blkm blkm/link.blkm
mkfifo blkm/fifo.blkm
cp disks/c disks/fifo
cp blkm/c.blkm outside.blkm
{
  echo 'checksums of'
  echo "$(reference disks/a)  a"
  for name in 'two words' c zeros no-manifest link fifo .. ../outside; do
    echo "blk-sha256/64k ($name) = $(reference "disks/$name" 2> /dev/null ||
                                     reference disks/c)"
  done
  echo "blk-sha256/64k (wrong-sum) = $(reference disks/a)"
} > list
json=$dir/status

# serve_exports ARGUMENT...
serve_exports () {
  serve file dir="$dir/disks" blkhash-verify-manifest-dir="$dir/blkm" "$@"
}

export_uri () {
  echo "nbd+unix:///$(echo "$1" | sed 's/ /%20/g')?socket=$socket"
}

# refused NAME REGEX: a client that asks for NAME cannot connect.
refused () {
  "$PYTHON" -c '
import nbd, sys
h = nbd.NBD()
h.set_export_name(sys.argv[1])
try:
    h.connect_unix(sys.argv[2])
except nbd.Error:
    sys.exit(0)
sys.exit("it was served")' "$1" "$socket" || fail "'$1' was served"
  grep -q "error: .*$2" "$log" || fail "'$1': the log does not say '$2'"
}

no_open_manifest () {
  [ ! -e /proc/$server/fd ] || ! ls -l /proc/$server/fd | grep '\.blkm$'
}

# ---- What is served ----

serve_exports blkhash-verify-sums="$dir/list" blkhash-verify-file="$sums" \
              blkhash-verify-status="$json"
[ ! -s "$sums" ] || fail "$(cat "$sums")"
for name in a 'two words' c; do
  copy "$(export_uri "$name")" copy
  cmp "disks/$name" copy || fail "the copy of $name differs"
  wait_for_line "blk-sha256/64k ($name) = $(reference "disks/$name")"
done
run 0 nbdinfo "$(export_uri zeros)"
wait_for_line "blk-sha256/64k (zeros) = $(reference disks/zeros)"
refused "" 'no export "": it cannot be the name'
refused . 'no export ".": it cannot be'
refused .. 'no export "..": it cannot be'
refused ../outside 'no export "../outside": it cannot be'
refused ./c 'no export "./c": it cannot be'
refused no-sum "no sum for the export of .*no-sum.blkm"
refused no-manifest 'no export "no-manifest": No such file'
refused wrong-sum "wrong-sum.blkm: its sum is not"
refused link 'no export "link": its manifest is a symbolic link'
refused fifo "not a regular file"
[ "$(grep -c . "$sums")" = 5 ] || fail "$(cat "$sums")"

# Each export has its own state, and keeps it until another client uses it.
flip disks/c 100
client c "
try:
    h.pread(512, 0)
    assert False
except nbd.Error as e:
    assert e.errnum == 5"
wait_for_line '# differs c: 65536 bytes'
run 1 sh -c 'cd disks && blksum --check "$1"' sh "$sums"
[ "$(grep -c OK stdout) $(grep -c 'FAILED differs' stdout)" = "3 1" ] ||
  fail "$(cat stdout)"
flip disks/c 100
wait_until no_open_manifest
copy "$(export_uri c)" copy
wait_for_line "blk-sha256/64k (c) = $(reference disks/c)"

# All manifests are closed when no client uses them.
wait_until no_open_manifest
stop
run 0 "$PYTHON" -c '
import json, sys
exports = json.load(open(sys.argv[1]))["exports"]
results = dict((e["name"], e["result"]) for e in exports)
assert results == {"a": "ok", "two words": "ok", "c": "ok",
                   "zeros": "ok"}, results
assert all(e["manifest"].endswith("/%s.blkm" % e["name"]) for e in exports)
' "$json"

# The result of several exports is replaced, too.
serve_exports blkhash-verify-sums="$dir/list" blkhash-verify-file="$sums"

# A disk and its manifest are replaced while no client uses them: what was found
# of the old one does not count.
copy "$(export_uri a)" copy
wait_for_line "blk-sha256/64k (a) = $(reference disks/a)"
stop
serve_exports blkhash-verify-sum=none blkhash-verify-file="$sums"
copy "$(export_uri a)" copy
wait_for_line "blk-sha256/64k (a) = $(reference disks/a)"
wait_until no_open_manifest
write_data disks/a 2000000 100
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write disks/a > new
mv new blkm/a.blkm
client a "h.pread(512, 0)"
wait_for_match '^# unknown a: '
copy "$(export_uri a)" copy
wait_for_line "blk-sha256/64k (a) = $(reference disks/a)"

# With "none" the others are served, too, but still no link, and none outside.
copy "$(export_uri no-sum)" copy
refused link "its manifest is a symbolic link"
refused ../outside "it cannot be the name of a file"
stop

# With "stop" an export stays stopped when its manifest is opened again.
flip disks/c 100
for output in "" blkhash-verify-status="$json"; do
  serve_exports blkhash-verify-sum=none blkhash-verify-fail=stop $output
  for offset in 0 65536 0; do
    client c "
try:
    h.pread(512, $offset)
    assert False
except nbd.Error as e:
    assert e.errnum == 5"
    wait_until no_open_manifest
  done
  copy "$(export_uri 'two words')" copy
  stop
done
flip disks/c 100

# ---- The number of open manifests is limited ----

for i in $(seq 65); do
  cp disks/c "disks/n$i"
  cp blkm/c.blkm "blkm/n$i.blkm"
done
# Valgrind allows 500 threads.
serve_exports blkhash-verify-sum=none --threads=2
client n1 "
first = [connect('n%d' % (1 + i)) for i in range(64)]
again = connect('n7')
try:
    connect('n65')
    assert False
except nbd.Error:
    pass
again.shutdown()
first.pop().shutdown()
def works():
    try:
        connect('n65').shutdown()
        return True
    except nbd.Error:
        return False
wait_until(works)"
grep -q 'too many exports are in use' "$log" || fail "no reason"
stop

# ---- A manifest that takes minutes ----

# It describes 2^34 blocks of zeros.  The plugin serves each name, with a size
# that allows this.
"$PYTHON" - > blkm/huge.blkm << 'END'
import sys
import refmanifest
header = refmanifest.header(refmanifest.tag("sha256", 65536, 0, False),
                          2**50, 0, 2**34)
sys.stdout.buffer.write(header + refmanifest.record(0, 2**34 | 1 << 63, b"") +
                      refmanifest.end(header, 2**34, bytes(32)))
END
{
  cat list
  echo "blk-sha256/64k (huge) = $(head -c 64 /dev/zero | tr '\0' 0)"
} > huge
serve null size=$((1 << 50)) blkhash-verify-manifest-dir="$dir/blkm" \
      blkhash-verify-sums="$dir/huge" blkhash-verify-size=truncate \
      blkhash-verify-file="$sums"

# count REGEX: how many lines of the log match.
count () {
  grep -c -e "$1" "$log" || :
}
is_reading () {
  [ "$(count 'blkhash-verify: prepare')" -gt "$before" ]
}
none_is_open () {
  [ "$(count 'blkhash-verify: close$')" = \
    "$(count 'blkhash-verify: open readonly=')" ]
}
# open_huge: a client opens it in the background.
open_huge () {
  before=$(count 'blkhash-verify: prepare')
  "$PYTHON" -c '
import nbd, sys
h = nbd.NBD()
h.set_export_name("huge")
h.connect_unix(sys.argv[1])' "$socket" 2> /dev/null &
  opening=$!
  kill_at_exit $opening
  wait_until is_reading
}

# Another export can be used meanwhile.
open_huge
run 0 timeout 60 nbdinfo "$(export_uri zeros)"
wait_for_line "blk-sha256/64k (zeros) = $(reference disks/zeros)"
kill -0 $opening || fail "the large manifest was opened"

# The work ends when the client is gone, and when the server ends.
kill $opening
wait_until none_is_open
open_huge
stop
! wait $opening || fail "the large manifest was opened"
logged 2 "blkhash-verify: $dir/blkm/huge.blkm: Operation canceled"

# ---- One manifest: only one export can be used if there is one state ----

prove "$image"
mkdir two
cp "$image" two/snapshot
cp "$image" two/disk
flip two/disk 1048600
other_name='clients can use only the export'
for more in blkhash-verify-file="$sums" blkhash-verify-status="$json" \
            blkhash-verify-mapfile="$dir/map" blkhash-verify-fail=stop; do
  rm -f "$sums" "$json"
  verify file dir="$dir/two" "$more" blkhash-verify-export=disk
  client disk "$reads
fails(512, 1048576)"
  refused snapshot "$other_name .disk."
  client "" "$reads
if '$more' == 'blkhash-verify-fail=stop': fails(512, 0)
else: right(512, 0)"
  run 0 nbdinfo --list --no-content "$uri"
  [ "$(grep -c '^export=' stdout)" = 1 ] || fail "$(cat stdout)"
  grep -q '^export="disk"' stdout || fail "$(cat stdout)"
  stop

  # Without a name it is the default export, which this plugin has not.
  rm -f "$sums" "$json"
  verify file dir="$dir/two" "$more"
  refused snapshot "$other_name '',"
  refused "" 'No such file'
  stop

  # A plugin that ignores the name.
  rm -f "$sums" "$json"
  verify file two/snapshot "$more"
  refused snapshot "$other_name"
  client "" "$reads
right(512, 0)"
  stop
done
rm -f "$sums"
verify file dir="$dir/two" blkhash-verify-export=snapshot
copy "$(export_uri snapshot)" copy
refused disk "$other_name .snapshot."
stop
# Without any of these, clients choose.
verify file dir="$dir/two"
copy "$(export_uri snapshot)" copy
client disk "$reads
fails(512, 1048576)"
stop

# ---- Parameters ----

[ "$SANITIZE" = no ] || exit 0
refuses () {
  regex=$1
  shift
  refuses_to_start "$regex" null "$@"
}
with=blkhash-verify-manifest-dir=$dir/blkm
refuses 'sums is missing' "$with"
refuses 'sums is missing' "$with" blkhash-verify-sum="blk-md5/4:00"
refuses 'cannot be used with blkhash-verify-sums' "$with" \
        blkhash-verify-sum=none blkhash-verify-sums="$dir/list"
refuses 'blkhash-verify-exports is now: blkhash-verify-manifest-dir$' \
        blkhash-verify-exports="$dir/blkm"
refuses 'sums needs blkhash-verify-manifest-dir' blkhash-verify-sums="$dir/list" \
        blkhash-verify-manifest="$dir/blkm/c.blkm"
for more in blkhash-verify-manifest="$dir/blkm/c.blkm" \
            blkhash-verify-mapfile="$dir/map" blkhash-verify-name=x \
            blkhash-verify-export=a; do
  refuses 'are for a single disk' "$with" blkhash-verify-sum=none "$more"
done
refuses 'No such file' blkhash-verify-manifest-dir="$dir/none" \
        blkhash-verify-sum=none
refuses 'Not a directory' blkhash-verify-manifest-dir="$dir/list" \
        blkhash-verify-sum=none
refuses 'No such file' "$with" blkhash-verify-sums="$dir/none"
hex=$(reference disks/c)
{ cat list; echo "$hex"; } > bad
refuses 'line [0-9]*: it has no name' "$with" blkhash-verify-sums="$dir/bad"
{ cat list; echo "blk-sha256/64k (c) = $(reference disks/a)"; } > bad
refuses 'two sums of c$' "$with" blkhash-verify-sums="$dir/bad"
echo "blk-sha256/64k (c) = x$hex" > bad
refuses 'line 1: it is not' "$with" blkhash-verify-sums="$dir/bad"
echo "blk-sha257/64k (c) = $hex" > bad
refuses "blkhash-verify-sums: .*/bad: line 1: unknown digest 'sha257'" \
        "$with" blkhash-verify-sums="$dir/bad"
printf 'a\0b\n' > bad
refuses 'line 1: it has a NUL' "$with" blkhash-verify-sums="$dir/bad"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The status file of the verify filter: counts and ranges in JSON.

. "$(dirname "$0")/../verify-functions.sh"

prove "$image"
cd "$dir"
cp "$image" disk
json=$dir/status

# status_is ASSERTION...: the status is JSON in which these are true, in Python;
# "e" is the only export.
status_is () {
  "$PYTHON" - "$json" "$image" "$@" > status.log 2>&1 << 'END'
import json, sys
s = json.load(open(sys.argv[1]))
e, = s["exports"]
truth = open(sys.argv[2], "rb").read()
blocks = [truth[i:i + 65536] for i in range(0, len(truth), 65536)]
data = sum(len(b) for b in blocks if any(b))
zeros = len(truth) - data
def counts(verified, differs=0, unreadable=0, zero=zeros):
    rest = e["size"] - verified - differs - unreadable
    assert e["verified-bytes"] == verified, e
    assert e["differs-bytes"] == differs, e
    assert e["unreadable-bytes"] == unreadable, e
    assert e["missing-bytes"] == rest, e
    assert e["missing-zero-bytes"] == zero, e
    assert rest == sum(r["length"] for r in e["ranges"]
                       if r["result"] == "missing") or \
        not e["ranges-complete"], e
def ranges(*expected):
    found = [(r["start"], r["length"], r["result"]) for r in e["ranges"]
             if r["result"] != "missing"]
    assert found == list(expected), found
assert s["program"] == "nbdkit-blkhash-verify-filter" and s["time"] > 1e9
for text in sys.argv[3:]:
    assert eval(text) in (None, True), (text, s)
END
}

# wait_for_status ASSERTION...
wait_for_status () {
  becomes_true status_is "$@" || fail "not the status: $* $(cat status.log)"
}

serve_status () {
  verify "$@" blkhash-verify-status="$json"
}

# It is there before clients are, and is written when one leaves, and at the
# end.
serve_status file disk blkhash-verify-name='a "\b'
wait_for_status 'counts(0, zero=0)' 'e["result"] == "unknown"' \
                'e["size"] == len(truth)' 'e["block-size"] == 65536' \
                'not s["finished"]' 'e["name"] == "a \"\\b"' \
                'e["manifest"].endswith("/manifest")'
client "" "$reads
right(512, 0)
right(200000, 0)"
wait_for_status 'counts(65536 * 4)' 'ranges()' 'e["ranges-complete"]'
flip disk 65536
flip disk 131072
flip disk 5242880
client "" "$reads
fails(65536, 65536)
fails(1, 131072)
fails(512, 5242880)"
wait_for_status 'counts(0, 65536 * 3)' 'e["result"] == "differs"' \
                'ranges((65536, 131072, "differs"),
                        (5242880, 65536, "differs"))' \
                'not e["stopped"]'
flip disk 65536
flip disk 131072
flip disk 5242880
wait_until all_disconnected
copy "$uri" copy
wait_for_status 'counts(data)' 'ranges()' 'e["result"] == "unknown"' \
                'e["missing-bytes"] == zeros' 'not s["finished"]'
stop
wait_for_status 'counts(data)' 's["finished"]' 'e["transient-blocks"] == 0'
[ "$(ls status*)" = "status
status.log" ] || fail "left behind: $(ls)"

# Zeros are verified.
serve_status file disk blkhash-verify-zero=extents
copy "$uri" copy
wait_for_status 'counts(len(truth), zero=0)' 'e["result"] == "ok"'
stop

# The interval passes while the client stays.
serve_status file disk
"$PYTHON" - "$socket" "$json" "$limit" << 'END' || fail "no status meanwhile"
import json, nbd, sys, time
h = nbd.NBD()
h.connect_unix(sys.argv[1])
for i, count in (0, 65536), (1, 131072):
    h.pread(512, 65536 * i)
    end = time.monotonic() + int(sys.argv[3])
    while json.load(open(sys.argv[2]))["exports"][0]["verified-bytes"] != count:
        assert time.monotonic() < end
        time.sleep(0.1)
END
stop

# Reads that fail, and requests that were stopped.
touch trigger
serve_status --filter=error file disk error-pread-rate=100% \
             error-file=trigger blkhash-verify-fail=stop
client "" "$reads
fails(65536, 65536)"
wait_for_status 'counts(0, 0, 65536)' 'e["result"] == "unknown"' \
                'ranges((65536, 65536, "unreadable"))' 'e["stopped"]'
stop

# Zeros that are read.
serve_status file disk blkhash-verify-zero=read
copy "$uri" copy
wait_for_status 'counts(len(truth), zero=0)' 'not e["manifest-changed"]'
stop
# More ranges than are listed; a name that is not UTF-8.
"$PYTHON" -c '
import os, sys
sys.stdout.buffer.write(os.urandom(512 * 2003 - 100))' > many
blksum -b 512 --tag --no-names --manifest many.blkm many > many.sum
cp many wrong
"$PYTHON" -c '
f = open("wrong", "r+b")
for i in range(0, 2003, 2):
    f.seek(512 * i + 411)
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 1]))'
serve file wrong blkhash-verify-manifest=many.blkm \
      blkhash-verify-sum="$(cat many.sum)" blkhash-verify-fail=warn \
      blkhash-verify-status="$json" \
      blkhash-verify-name="$(printf 'x\351y\001')"
copy "$uri" copy
image=many
wait_for_status 'counts(512 * 1001, 512 * 1002 - 100, zero=0)' \
            'len(e["ranges"]) == 1000' 'not e["ranges-complete"]' \
            'e["ranges"][999] == {"start": 512 * 2 * 999,
             "length": 512, "result": "differs"}' 'e["name"] == "x\ufffdy\x01"'
stop

# The manifest changes: a part of it that was not read before.
serve file many blkhash-verify-manifest=many.blkm \
      blkhash-verify-sum="$(cat many.sum)" blkhash-verify-status="$json"
: > many.blkm
client "" "$reads
fails(512, 512 * 1500)"
wait_for_status 'counts(0, zero=0)' 'e["manifest-changed"]'
stop

image=disk

# A killed server leaves the last status, which the next one replaces.
prove disk
serve_status file disk
client "" "$reads
right(512, 0)"
wait_for_status 'counts(65536)'
kill -9 $server
wait $server || :
wait_for_status 'counts(65536)' 'not s["finished"]'
serve_status file disk
wait_for_status 'counts(0, zero=0)'
stop

# Other files are not replaced, JSON neither.
[ "$SANITIZE" = no ] || exit 0
echo '{ "program": "another" }' > other.json
for file in other.json disk many.sum; do
  cp $file kept
  refuses_to_start "is not a status of this filter: it is not\|same file" \
      file disk blkhash-verify-manifest="$manifest" blkhash-verify-sum=none \
      blkhash-verify-status=$file
  cmp kept $file || fail "$file was changed"
done
refuses_to_start "same file" file disk blkhash-verify-manifest="$manifest" \
    blkhash-verify-sum=none blkhash-verify-status=new blkhash-verify-file=new
refuses_to_start "same file" file disk blkhash-verify-manifest="$manifest" \
    blkhash-verify-sum=none blkhash-verify-status=new blkhash-verify-mapfile=new
refuses_to_start "No such file" file disk blkhash-verify-sum=none \
    blkhash-verify-manifest="$manifest" blkhash-verify-file=new \
    blkhash-verify-status=none/new
! ls | grep new || fail "created although nbdkit did not start"

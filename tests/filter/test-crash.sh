#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# After a client's write was acknowledged, no stale sum or manifest comes back
# after a crash of the machine at any moment.  crash-model.py computes the
# states that the disk can have.

. "$(dirname "$0")/../hold-functions.sh"
requires_program strace
requires_no_sanitizer
[ -z "$wrapper" ] || skip "strace and valgrind do not go together"
calls='-qq -f -y -s 1000000
  -e trace=/^(open|close$|rename|unlink|f(data)?sync|ftruncate|write$|pwrite64)
  -e signal=none'
requires strace $calls -o "$dir/trace" true

truncate -s 64k "$dir/disk"

# no_stale FILE CONTENT CHANGES SUMS: the trace must have at least so many of
# them.
no_stale () {
  "$PYTHON" "$abs_top_srcdir/tests/filter/crash-model.py" "$dir/trace" "$1" \
            "$dir/disk" "$2" > "$dir/stdout" 2> "$dir/stderr" ||
    fail "stale content of $1 can come back"
  read -r changes published < "$dir/stdout"
  [ "$changes" -ge "$3" ] && [ "$published" -ge "$4" ] ||
    fail "the trace of $1 has only $changes changes and $published states"
}

# ---- Clients with several names, which read and write at once ----

stale="$(printf %064d 0)  -"
echo "$stale" > "$sums"
blksum --manifest "$manifest" "$dir/disk"
nbdkit_wrapper="strace $calls -o $dir/trace"
serve_snapshot blkhash-manifest="$manifest"
tracer=$server
server=$(cat "$socket.pid")
kill_at_exit "$server"
clients 'def reader(name, times=10):
    for i in range(times):
        h = connect(name, False)
        h.pread(65536, 0)
        h.shutdown()
def writer(name):
    for i in range(5):
        h = connect(name, False)
        for j in range(4):
            write(h, bytes([i + j]), j * 5000)
        wait(h)
        h.shutdown()
for name in "abc":
    reader(name, 1)
while len([s for s in sums().splitlines() if s[0] != "#"]) < 3:
    time.sleep(0.01)
for f in [later(reader, "a"), later(writer, "a"), later(reader, "b"),
          later(writer, "b"), later(reader, "c")]:
    f.get()'
kill "$server"
wait $tracer
right_or_none a b c
no_stale "$sums" "$stale
" 40 3
no_stale "$manifest" "blkhash-manifest 1
" 40 3

rm "$sums" "$manifest"
nbdkit_wrapper=

# ---- Failing syncs ----

sleep 1000 &
kill_at_exit $!
strace -p $! -o "$dir/trace" 2> "$dir/stderr" &
tracer=$!
kill_at_exit $tracer
wait_until test -s "$dir/stderr" # attached, or not permitted
grep -q attached "$dir/stderr" || skip "strace cannot attach here"
kill $tracer

# fails WHICH LOG [PARAMETER]: the filter withdraws a sum, and these syncs fail.
# The log is in $dir/said, the result file before the syncs in $before.
fails () {
  serve_snapshot $3
  clients 'h = connect("", False)
h.pread(65536, 0)
h.shutdown()
while not sums(): time.sleep(0.01)'
  before=$(cat "$sums")
  rm -f "$dir/attached"
  strace $(echo $calls | sed s/-qq//) -e inject=fsync:error=EIO:when=$1 \
         -p "$server" -o "$dir/trace" 2> "$dir/attached" &
  tracer=$!
  kill_at_exit $tracer
  wait_until grep -q -s 'attached' "$dir/attached"
  clients 'h = connect("", False)
h.pwrite(b"x", 0)
with open(os.environ["DIR"] + "/said", "w") as f: f.write(log())
os._exit(0)'
  kill $tracer
  wait $tracer 2> /dev/null || :
  grep -q "$2" "$dir/said" ||
    fail "'$2' is not in the log: $(grep blkhash: "$dir/said")"
  stop
}

# Syncs of the thread that withdraws a sum: the new file (1), the directory (2).
# If 1 fails: the old file, which was emptied (2), the directory after the old
# file was removed (3).  If 2 fails: the old file, which was emptied (3), then
# the new one, which was emptied (4), or the directory after it was removed (4).
for which in 1 2 1..2 2..3; do
  fails $which 'blkhash-file: cannot write .*sums'
  no_stale "$sums" "$before
" 1 0
  ! grep -q 'may be wrong' "$dir/said" ||
    fail "the log says that the result may be wrong"
done
for which in 1..3 2..4; do
  fails $which 'cannot remove .*it may be wrong now'
done

# The syncs of the manifest come before those.
for which in 1 2 1..2 2..3; do
  fails $which 'blkhash-manifest: cannot write .*manifest' blkhash-manifest="$manifest"
  no_stale "$sums" "$before
" 1 0
  no_stale "$manifest" "blkhash-manifest 1
" 1 0
  ! grep -q 'may be wrong' "$dir/said" ||
    fail "the log says that the result may be wrong"
done
for which in 1..3 2..4; do
  fails $which 'cannot remove .*manifest, it may be wrong now' \
        blkhash-manifest="$manifest"
done

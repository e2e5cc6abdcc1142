#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bench-latency works with small disks and one run of each case: its counts and
# results are right, and it leaves no files and processes, also when it is
# interrupted.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "a test of scripts"
[ "$PYTHON" != no ] || skip "python3 is missing"
requires_nbdkit file
requires_program qemu-img nbdcopy
bench=$abs_top_srcdir/tests/bench
disk=./bench/.libs/disk-filter.so
[ -e "$disk" ] || skip "built without nbdkit"

# ---- disk-filter and disk-fs ----

# counts_are_right READS [SECONDS]: 8 MiB were read with at least that many reads,
# which took at least that long.
counts_are_right () {
  PYTHONPATH=$bench "$PYTHON" - "$dir/counts" "$@" << 'END_OF_CHECK' ||
import storage, sys
reads, seconds = int(sys.argv[2]), float((sys.argv + ["0"])[3])
with open(sys.argv[1], "rb") as f:
    before = f.read()
counts = storage.Counts(sys.argv[1])
assert set(counts.get().values()) == {0}
with open(sys.argv[1], "r+b") as f:
    f.write(before)
got = counts.get()
# The page in which the format was probed may be read again.
assert 8 << 20 <= got["bytes"] <= (8 << 20) + 8192 and got["reads"] >= reads, got
assert got["in-flight"] == 0 and 1 <= got["most"] <= 128, got
assert got["nanoseconds"] > seconds * 1e9, got
END_OF_CHECK
    fail "wrong counts"
  rm "$dir/counts"
}

# With and without latency the disk has the same content, and all reads are counted.
mkdir "$dir/disks"
make_image "$dir/disks/image"
sum=$(reference "$dir/disks/image")
for parameters in "" "disk-rate=1000000000 disk-seek=1"; do
  start_nbdkit -r "--filter=$disk" file "$dir/disks/image" \
    disk-counts="$dir/counts" $parameters
  prints_sum "$sum" blksum --no-extents --read-size 64k "$uri"
  counts_are_right 128
done
start_nbdkit -r "--filter=$disk" file "$dir/disks/image" \
  disk-counts="$dir/counts" disk-delay=2
prints_sum "$sum" blksum --no-extents --read-size 64k "$uri"
counts_are_right 128 0.256

can_mount=no
mkdir "$dir/mnt"
if [ -e ./bench/disk-fs ] && [ -e /dev/fuse ] && command -v fusermount3 > /dev/null &&
   ./bench/disk-fs -o "directory=$dir/disks" "$dir/mnt"; then
  fusermount3 -u "$dir/mnt"
  can_mount=yes
fi
if [ $can_mount = yes ]; then
  # Options, and the seconds that at least 16 reads take.
  for case in ":0" ",delay=2:0.032" ",rate=100000000,seek=1:0.08"; do
    options=${case%:*}
    ./bench/disk-fs -f -o "directory=$dir/disks,counts=$dir/counts$options" \
      "$dir/mnt" &
    pid=$!
    kill_at_exit $pid
    wait_until [ -e "$dir/mnt/image" ]
    prints_sum "$sum" blksum --no-extents "$dir/mnt/image"
    fusermount3 -u "$dir/mnt"
    wait $pid
    counts_are_right 16 "${case##*:}"
  done
fi

# ---- A short run ----

# latency STATUS OPTION...: runs bench-latency, which exits with STATUS.
latency () {
  status_wanted=$1
  shift
  run $status_wanted "$PYTHON" "$bench/bench-latency" \
    --build "$abs_top_builddir" --output "$dir/results" --runs 1 --size 2 "$@"
}

sections="nbd sparse"
if [ $can_mount = yes ]; then
  sections="file nbd qcow2 sparse large"
fi
latency 0 --before "$abs_top_builddir" --storage "0 ms,1 ms,50 MB/s,disk"
"$PYTHON" - "$dir/results/latency.json" $sections << 'END_OF_CHECK' ||
import json, sys
results = json.load(open(sys.argv[1]))["results"]
sections = sys.argv[2:]
assert list(dict.fromkeys(r["section"] for r in results)) == sections, results
for section in sections:
    got = {r["name"]: r for r in results if r["section"] == section}
    ours = {"blksum", "blksum again", "blksum before"}
    by_nbd = {"best --queue-size", "nbdcopy"}
    files = {"blksum null", "blksum -c", "sha256sum", "b3sum", "best of fio"}
    others = {"nbd": by_nbd, "sparse": by_nbd, "file": files, "qcow2": files,
              "large": set()}[section]
    assert set(got) == ours | others, got
    for name in ours:
        assert got[name]["throughput"] > 0 and got[name]["most"] > 0, got
        assert len(got[name]["runs"]) == len(got[name]["ratios"]) == 1, got
    places = {r["storage"] for r in results if r["section"] == section}
    assert places == {"qcow2": {"10 ms"}, "sparse": {"10 ms"},
                      "large": {"0 ms", "5 ms"}}.get(
        section, {"0 ms", "1 ms", "50 MB/s", "disk"}), places
END_OF_CHECK
  fail "the cases are not the expected ones"
[ -z "$(ls -A "$TMPDIR")" ] || fail "left files behind"

run 0 "$PYTHON" "$bench/bench-report" "$dir/results/latency.json"
for line in "Section nbd:" "| MB/s | 0 ms | 1 ms | 50 MB/s | disk |" \
            "| nbdcopy | " "| in flight (most), latency | " "| the limit |  |  | "
do
  grep -qF "$line" "$dir/stdout" || fail "no '$line'"
done

# A slow program reads a smaller disk; a program that is missing has no result.
mkdir "$dir/few"
for program in nbdkit nbdcopy; do
  ln -s "$(command -v $program)" "$dir/few"
done
PATH=$dir/few latency 0 --size 32 --limit 0 --storage "1 ms" \
  --sections file,nbd
grep -q "^no files: " "$dir/stderr" ||
  fail "no reason why the case 'files' is missing"
"$PYTHON" - "$dir/results/latency.json" << 'END_OF_CHECK' ||
import json, sys
results = json.load(open(sys.argv[1]))["results"]
assert {r["section"] for r in results} == {"nbd"}
sizes = {r["name"]: r["size"] for r in results}
assert sizes["blksum"] == 1 << 20, sizes
END_OF_CHECK
  fail "a slow program did not read a smaller disk"

# ---- Interrupted ----

is_reading () {
  [ -n "$(od -An -t u8 -N 8 "$TMPDIR"/bench-latency-*/counts 2> /dev/null |
            tr -d ' 0\n')" ]
}

# A run that would take minutes.
for signal in INT TERM; do
  "$PYTHON" "$bench/bench-latency" --build "$abs_top_builddir" \
    --output "$dir/results" --size 64 --limit 1000 --storage "100 ms" \
    > "$dir/stdout" 2> "$dir/stderr" &
  pid=$!
  kill_at_exit $pid
  wait_until is_reading
  kill -$signal $pid
  status=0
  wait $pid || status=$?
  case $signal,$status in
    INT,130 | TERM,143) ;;
    *) fail "ended with $status by SIG$signal" ;;
  esac
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left files behind by SIG$signal"
  ! grep -qF "$TMPDIR" /proc/mounts || fail "is still mounted"
  ! grep -qsaF "$TMPDIR/bench-latency" /proc/[0-9]*/cmdline ||
    fail "left a process behind"
done

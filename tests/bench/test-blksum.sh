#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bench-blksum, bench-peers and bench-filter work, with small images and one run
# of each case.

. "$(dirname "$0")/../functions.sh"
requires_no_sanitizer "a test of scripts"
[ "$PYTHON" != no ] || skip "python3 is missing"
[ -z "$wrapper" ] || skip "not in valgrind"
requires_qemu
requires_nbdkit file
requires_program hyperfine nbdcopy
bench=$abs_top_srcdir/tests/bench

run 0 "$PYTHON" "$bench/make-images" "$dir/images" --size 4m \
  --images 25p,full,empty

# measure SCRIPT OPTION...: runs it, with results in $dir/results.
measure () {
  script=$1
  shift
  run 0 "$PYTHON" "$bench/$script" --build "$abs_top_builddir" \
    --output "$dir/results" --runs 1 "$@" "$dir/images"
}

# has RESULT CASE...: the result has these cases, for the image "full".
has () {
  result=$1
  shift
  "$PYTHON" - "$dir/results/$result.json" "$@" << 'END_OF_CHECK' ||
import json, sys
result = json.load(open(sys.argv[1]))
got = {r["name"]: r for r in result["results"] if r["image"] == "full"}
for name in sys.argv[2:]:
    assert name in got, "%s is not in %s" % (name, list(got))
    assert got[name]["time"] > 0 and len(got[name]["runs"]) == 1, got[name]
END_OF_CHECK
    fail "$script did not measure all of: $*"
}

measure bench-blksum --images empty,25p,full,none
grep -q "none.raw is missing" "$dir/stderr" ||
  fail "no message names the missing image"
has blksum raw "raw -c" qcow2 file pipe "nbd raw" "nbd qcow2" \
    "nbd raw read" "nbd qcow2 read" "pipe read" 1 256k 2m
measure bench-blksum --images full --sections formats --cold
has blksum-cold raw qcow2

# Two different sums of one image are an error.
cp "$dir/images/25p.qcow2" "$dir/images/full.qcow2"
run 1 "$PYTHON" "$bench/bench-blksum" --build "$abs_top_builddir" \
  --output "$dir/results" --runs 1 --images full "$dir/images"
grep -q "two sums" "$dir/stderr" ||
  fail "two images with different sums were measured"

run 0 "$PYTHON" "$bench/bench-report" "$dir"/results/*.json
for line in "Formats, image full, " "Threads, image full, " "| blksum qcow2 |" \
            "| 25p | blksum nbd raw |"
do
  grep -q "^$line" "$dir/stdout" || fail "no '$line'"
done

# Each peer that is installed, and rows without a time for the others.  Here
# nbdcopy and upstream's blksum are our blksum, so their sums are right.
without=$PATH
mkdir "$dir/peers"
cat > "$dir/peers/nbdcopy" << 'END'
#!/bin/sh
# nbdcopy --blkhash -- FILE null:
[ "$1" != --help ] || { echo "[--blkhash=DIGEST]"; exit; }
blksum --no-names "$3"
END
cat > "$dir/peers/other" << 'END'
#!/bin/sh
echo 0000000000000000000000000000000000000000000000000000000000000000
END
cat > "$dir/peers/filling" << 'END'
#!/bin/sh
# Like b3sum on tmpfs, which fills holes.
cat "$1" > "$1.part"
cat "$1.part" > "$1"
rm "$1.part"
blksum "$1"
END
chmod +x "$dir/peers"/*
run 0 qemu-img convert -f raw -O qcow2 "$dir/images/full.raw" \
  "$dir/images/full.qcow2"

measure bench-peers --images none,full
grep -q "none.raw is missing" "$dir/stderr" ||
  fail "no message names the missing image"
grep -q "sum  *full  *upstream blksum  *not measured here" "$dir/stderr" ||
  fail "no message that upstream's blksum was not measured"
has peers "blksum disk.raw" "blksum disk.qcow2" sha256sum \
    "blkhash compare disk.raw copy.raw" \
    "qemu-img compare disk.raw copy.raw" \
    "blkhash compare disk.raw disk.qcow2" \
    "qemu-img compare disk.raw disk.qcow2"
[ "$(ls "$dir/images" | grep -c peers)" = 0 ] || fail "left a copy behind"

# The tables go between the markers of a page; the documentation has these markers.
grep -qx '<!-- results: peers -->' \
    "$abs_top_srcdir/docs/blksum-performance.md" ||
  fail "no place for the results"
printf '%s\n' '<!-- results: peers -->' '<!-- end of results -->' \
  > "$dir/page.md"
run 0 "$PYTHON" "$bench/bench-report" --update "$dir/page.md" \
  "$dir/results/peers.json"
grep -q '^| upstream blksum |.*| not measured here |$' "$dir/page.md" ||
  fail "no row of a program that was not measured"
grep -q '^| `qemu-img compare disk.raw disk.qcow2` | the first place |.*<br>' \
  "$dir/page.md" || fail "no row of qemu-img compare"
grep -q '^Seconds for a disk of 4 MiB ' "$dir/page.md" || fail "no machine"

PATH=$dir/peers:$PATH
measure bench-peers --images full --upstream blksum
PATH=$without
has peers "upstream blksum" "nbdcopy --blkhash"

# A peer that prints another sum, and a peer that fills holes, are errors.
for peer in other filling; do
  run 1 "$PYTHON" "$bench/bench-peers" --build "$abs_top_builddir" \
    --output "$dir/none" --runs 1 --images 25p \
    --upstream "$dir/peers/$peer" "$dir/images"
  case $peer in
    other) message="^bench-peers: 0*, not [0-9a-f]*: .*/other" ;;
    filling) message="25p.raw has lost its holes" ;;
  esac
  grep -q "$message" "$dir/stderr" || fail "does not say '$message'"
  [ ! -e "$dir/none/peers.json" ] || fail "wrote a result"
done

[ -f "$abs_top_builddir/filter/.libs/nbdkit-blkhash-filter.so" ] ||
  skip "only the filter: built without nbdkit"
measure bench-filter --images full
has filter "no filter" filter
run 0 "$PYTHON" "$bench/bench-report" "$dir/results/filter.json"
grep -q "^| full | .* | filter |" "$dir/stdout" || fail "no table"

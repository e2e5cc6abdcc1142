#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash compare --output=mapfile prints the ranges that differ as a mapfile, with
# which ddrescue copies these and nothing else.  The output of a comparison that
# failed is no mapfile.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

cat > check.py << 'END1'
# check.py MAPFILE JSON SIZE: the mapfile covers SIZE bytes without a gap, and
# its finished ranges are those of the JSON.  The first line differs for a part.
import json, re, sys
with open(sys.argv[1]) as f:
    lines = f.read().split("\n")
assert lines.pop() == ""
first = lines[0]
lines = [line for line in lines if not line.startswith("#")]
assert lines[0] == "0x00000000     +               1", lines[0]
end, finished, last = 0, [], None
for line in lines[1:]:
    start, length, status = re.fullmatch(
        "(0x[0-9A-F]{8,})  (0x[0-9A-F]{8,})  ([+?])", line).groups()
    start, length = int(start, 16), int(length, 16)
    assert start == end and length > 0 and status != last, line
    end, last = start + length, status
    if status == "+":
        finished.append((start, length))
assert end == int(sys.argv[3]), end
with open(sys.argv[2]) as f:
    found = json.load(f)
creator = "blkhash, of a part" if "part" in found else "blkhash"
assert first == "# Mapfile. Created by " + creator, first
found = [(r["start"], r["length"]) for r in found["ranges"]]
assert finished == found, (finished, found)
END1

# maps SIZE ARGUMENT...: the mapfile has the ranges of the JSON, and the exit
# status is the same.
maps () {
  map_size=$1
  shift
  status=0
  blkhash compare --output=json "$@" > json || status=$?
  run $status blkhash compare --output=mapfile "$@"
  [ ! -s stderr ] || fail "unexpected message"
  cp stdout domain
  "$PYTHON" check.py domain json $map_size ||
    fail "not the ranges: $(cat domain)"
}

# copies SOURCE TARGET: ddrescue copies what is in the domain, and nothing else.
have_ddrescue=false
! command -v ddrescue > /dev/null || have_ddrescue=true
copies () {
  $have_ddrescue || return 0
  cp "$2" copied
  rm -f rescue
  run 0 ddrescue -m domain "$1" copied rescue
  cmp "$1" copied || fail "ddrescue did not make them the same"
  # In another copy nothing but these ranges is overwritten.
  head -c "$(stat -c %s "$2")" /dev/zero | tr '\0' '\252' > mask
  rm -f rescue
  run 0 ddrescue -m domain "$1" mask rescue
  "$PYTHON" - "$1" mask json << 'END1' || fail "ddrescue copied something else"
import json, sys
source, mask = (open(name, "rb").read() for name in sys.argv[1:3])
expected = bytearray(b"\xaa" * len(mask))
for r in json.load(open(sys.argv[3]))["ranges"]:
    end = r["start"] + r["length"]
    expected[r["start"]:end] = source[r["start"]:end]
assert mask == expected
END1
}

write_data a 0 700001
blksum --manifest a.blkm a > stdout
for at in "" 0 700000 "65535 65536" "0 200000 327680 393216 700000"; do
  cp a b
  for offset in $at; do
    printf '\377' | dd of=b bs=1 seek=$offset conv=notrunc status=none
    printf '\000' | dd of=a bs=1 seek=$offset conv=notrunc status=none
  done
  blksum --manifest a.blkm a > stdout
  blksum --manifest b.blkm b > stdout
  for operands in "a b" "manifest:a.blkm b" "a manifest:b.blkm" \
                  "manifest:a.blkm manifest:b.blkm" "-d sha256/4k a b"; do
    maps 700001 $operands
    [ -n "$at" ] || ! grep -q '+$' domain || fail "a range differs"
    copies a b
  done
done

# A size that is not known before, other sizes, a part of the disk, no bytes.
blkhash compare --output=mapfile - b < a > expected || :
cat a | blkhash compare --output=mapfile - b > piped || :
cmp expected piped || fail "another result from a pipe"
head -c 300000 b > short
maps 700001 a short
maps 700001 short a
maps 200000 --size 200000 a b
maps 262144 --size 256k manifest:a.blkm b
maps 700001 --part 0/2 a b
maps 700001 --part 1/2 a b
: > none
maps 0 none none
maps 700001 none a
# Large offsets; the first range begins at 0.
truncate -s 5t large 2> stderr && {
  cp --sparse=always large other
  printf x | dd of=other bs=1 seek=5000000000000 conv=notrunc status=none
  maps 5497558138880 large other
}
# Trailing data is not mentioned.
truncate -s 1g tail
cp a padded
truncate -s 1g padded
run 1 blkhash compare --output=mapfile --size 700001 b padded
! grep "not read" stdout || fail "trailing data is in the mapfile"

# A comparison that fails has printed no mapfile, and ddrescue copies nothing.
head -c 300 a.blkm > cut.blkm
for operands in "a nothing" "a manifest:cut.blkm" "- -"; do
  run 2 blkhash compare --output=mapfile $operands
  cp stdout domain
  [ "$(grep -c -v '^#' domain)" = 1 ] && ! grep -q '+' domain ||
    fail "printed a mapfile"
  $have_ddrescue || continue
  rm -f rescue
  cp b copied
  if ddrescue -m domain a copied rescue > stdout 2>&1; then
    fail "ddrescue accepts what was printed"
  fi
  cmp b copied || fail "ddrescue copied something"
done
# A manifest whose end is damaged: all of it was compared before.
head -c $(($(stat -c %s b.blkm) - 1)) b.blkm > cut.blkm
run 2 blkhash compare --output=mapfile a manifest:cut.blkm
! grep -q '+' stdout || fail "printed ranges"
run 2 sh -c '"$@" > /dev/full' -- blkhash compare --output=mapfile a b
says_once "write error: No space left on device"
# It is an error at once, not after a comparison of hours.
run 2 sh -c '"$@" > /dev/full' -- blkhash compare --output=mapfile a missing
says_once "write error: No space left on device"

refuses "cannot be used with --quiet" blkhash compare --output=mapfile -q a b
refuses "is none of: human json mapfile" blkhash compare --output=map a b
$have_ddrescue || skip "ddrescue is missing (the rest passed)"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash export makes of a manifest, byte for byte, what veritysetup and fsverity make
# of the image, and what sha256sum confirms; or an error says why not, and leaves
# nothing.  Without these programs the results are compared only with
# tests/refverity.py.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

missing=
command -v veritysetup > /dev/null || missing="$missing veritysetup"
command -v fsverity > /dev/null || missing="$missing fsverity"
have () {
  [ "$missing" = "${missing#* "$1"}" ]
}

refverity () {
  "$PYTHON" -S "$abs_top_srcdir/tests/refverity.py" "$@"
}

# manifest IMAGE [SPEC]: makes m.
manifest () {
  rm -f m
  blksum -d "${2:-sha256/4k}" --manifest m "$1" > sum
}

# says_size FILE: the size of FILE is the only message.
says_size () {
  [ "$(cat stderr)" = "blkhash: $1: writing $(stat -c %s "$1") bytes" ] ||
    fail "another message"
}

# exports FILE COMMAND: it writes FILE, a new one.
exports () {
  rm -f "$1"
  export_file=$1
  shift
  run 0 "$@"
  says_size "$export_file"
  [ "$(stat -c %a "$export_file")" = 600 ] || fail "the mode is not 600"
}

nil=00000000-0000-0000-0000-000000000000

# veritysetup_makes DIGEST OPTION...: it makes the same "out" of "image", and prints
# the same root.
veritysetup_makes () {
  have veritysetup || return 0
  rm -f other
  : > other
  veritysetup format --salt=- --hash "$@" image other > log
  cmp out other || fail "not what veritysetup makes: $*"
  [ "$(sed -n 's/^Root hash: *[[:space:]]*//p' log)" = "$(cat root)" ] ||
    fail "not the root of veritysetup: $*"
  veritysetup verify image out "$(cat root)" $verify ||
    fail "veritysetup does not verify it"
}

# verity DIGEST: of "image", whose manifest is m.
verity () {
  exports out blkhash export --to verity m out
  mv stdout root
  [ "$(cat root)" = "$(refverity root $1 image)" ] || fail "another root"
  refverity verity $1 image | cmp - out || fail "another hash device"
  verify= veritysetup_makes $1 --uuid $nil
  exports out blkhash export --to verity --no-superblock manifest:m out
  cmp stdout root || fail "another root without superblock"
  refverity tree $1 image | cmp - out || fail "another tree"
  verify="--no-superblock --salt=- --hash $1 --data-blocks $(($(stat -c %s image) / 4096))"
  # With one block there is no tree, and veritysetup wants a file with a block.
  [ ! -s out ] || veritysetup_makes $1 --no-superblock
}

# fsverity_of DIGEST: of "image".
fsverity_of () {
  exports out blkhash export --to fsverity --image image --descriptor out m
  [ "$(cat stdout)" = "$1:$(refverity digest $1 image)" ] ||
    fail "another digest"
  refverity descriptor $1 image | cmp - out || fail "another descriptor"
  have fsverity || return 0
  fsverity digest --hash-alg $1 --out-descriptor=other image > log
  [ "$(cat stdout) image" = "$(cat log)" ] || fail "not the digest of fsverity"
  cmp out other || fail "not the descriptor of fsverity"
  rm other
}

# leaves SPEC: of m, whose sum is that of blksum, and with sha256 that of sha256sum.
leaves () {
  exports out blkhash export --to leaves manifest:m out
  hex=$(sed 's/ .*//' sum)
  [ "$(cat stdout)" = "blk-$1 (manifest:m) = $hex" ] || fail "not the sum"
  case $1 in
    sha256/* | sha512/*)
      [ "$(${1%%/*}sum < out)" = "$hex  -" ] ||
        fail "${1%%/*}sum of the leaves is not the sum" ;;
  esac
}

# make_blocks N [BYTES]: an image of N blocks and BYTES of data: data and holes.
make_blocks () {
  rm -f image
  truncate -s $(($1 * 4096)) image
  write_data image 0 $(($1 * 4096 / 3))
  [ "$1" -lt 10 ] || write_data image $(($1 * 4096 / 2 - 77)) 5000
  write_data image $(($1 * 4096)) "${2:-0}"
}

# ---- Equal to what other programs make ----

while read -r digest blocks; do
  make_blocks $blocks
  manifest image $digest/4k
  verity $digest
  fsverity_of $digest
  leaves $digest/4k
done << END
sha256 1
sha256 2
sha256 128
sha256 129
sha512 1
sha512 64
sha512 65
sha512 4097
sha256 16384
sha256 16385
END

# Zeros alone, and all constructions.
rm image
truncate -s 3m image
for spec in sha256/4k sha512/4k; do
  manifest image $spec
  verity ${spec%/4k}
  leaves $spec
done
make_blocks 130
for spec in sha256/4k/s64 sha256/4k/linear sha512/4k/s1; do
  manifest image $spec
  verity ${spec%%/*}
  fsverity_of ${spec%%/*}
done
verify=
manifest image
uuid=0123aBcd-89ab-cDef-0246-8ace13579bdf
exports out blkhash export --to verity --uuid $uuid m out
mv stdout root
veritysetup_makes sha256 --uuid $uuid

# The last block is padded for fs-verity.
for size in "0 0" "0 1" "0 4095" "1 1" "128 5" "128 4095" "300 100"; do
  make_blocks $size
  manifest image
  fsverity_of sha256
done
manifest image sha512/4k
fsverity_of sha512
# It is zeros: the image is not needed, and the name not known.
for size in 0 1 81920 81921 86015; do
  make_blocks $((size / 4096))
  truncate -s $size image
  manifest image
  run 0 blkhash export --to fsverity m
  [ "$(cat stdout)" = "sha256:$(refverity digest sha256 image)" ] ||
    fail "another digest without the image"
  [ ! -s stderr ] || fail "unexpected message"
done

# Leaves of any digest and block size, with a short last block.
make_image image
truncate -s 8388611 image
for spec in sha256/64k sha256/512 sha512/1m md5/4k xxh3-128/64k xxh64/4k sha3-256/8k \
            blake2b-256/64k; do
  blksum --list-digests | grep -qx "${spec%/*}" || continue
  manifest image $spec
  leaves $spec
done
: > empty
manifest empty
leaves sha256/4k

# ---- Output ----

make_blocks 200
manifest image
sum=blk-sha256/4k:$(sed 's/ .*//' sum)
root=$(refverity root image)
digest=$(refverity digest image)
cat > same.py << 'END'
import json, sys
got, expected = (json.loads(text) for text in sys.argv[1:])
assert got.pop("seconds") >= 0
assert got == expected, got
END
# json EXPECTED COMMAND
json () {
  json_expected=$1
  shift
  run 0 "$@" --output=json
  "$PYTHON" same.py "$(cat stdout)" "{\"name\":\"manifest:m\",\"sum\":\"$sum\",\"size\":819200,$json_expected,\"result\":\"ok\"}" ||
    fail "another object"
}
of_verity="\"root-hash\":\"$root\",\"algorithm\":\"sha256\",\"salt\":\"-\",\"format\":1,\"data-block-size\":4096,\"hash-block-size\":4096,\"data-blocks\":200"
rm -f out
json "\"verity\":{$of_verity,\"hash-start-block\":1,\"uuid\":\"$nil\",\"table\":\"0 1600 verity 1 DATA HASH 4096 4096 200 1 sha256 $root -\",\"size\":16384}" \
     blkhash export --to verity m out
rm out
json "\"verity\":{$of_verity,\"hash-start-block\":0,\"table\":\"0 1600 verity 1 DATA HASH 4096 4096 200 0 sha256 $root -\",\"size\":12288}" \
     blkhash export --to verity --no-superblock m out
json "\"fsverity\":{\"digest\":\"sha256:$digest\",\"block-size\":4096}" \
     blkhash export --to fsverity m
json "\"fsverity\":{\"digest\":\"sha256:$digest\",\"block-size\":4096}" \
     blkhash export --to fsverity --image image m
rm out
json "\"leaves\":{\"digest\":\"sha256:${sum#blk-sha256/4k:}\",\"size\":6408}" \
     blkhash export --to leaves m out
rm out

# The manifest can be a pipe.
run 0 sh -c 'cat m | blkhash export --to verity - out'
[ "$(cat stdout)" = "$root" ] || fail "another root from a pipe"
rm out
run 0 sh -c 'cat m | blkhash export --to leaves manifest:- out'
[ "$(cat stdout)" = "blk-sha256/4k (manifest:-) = ${sum#blk-sha256/4k:}" ] ||
  fail "another sum from a pipe"
rm out
# ---- Errors: they leave nothing ----

# leaves_nothing: but what was there.
ls -A > before
leaves_nothing () {
  ls -A | diff before - || fail "another file"
}
# fails REGEX COMMAND
fails () {
  refuses "$@"
  leaves_nothing
}
ls -A > before

for usage in "--to FORM is missing:--uuid $nil m out" \
    "the operands are:--to verity" "the operands are:--to leaves m out more" \
    "OUT, a new file, is missing:--to verity m" \
    "OUT, a new file, is missing:--to leaves m" \
    "has one operand, the manifest:--to fsverity m out" \
    "'tree' is none of: verity fsverity leaves:--to tree m out" \
    "uuid is for --to verity:--to leaves --uuid $nil m out" \
    "uuid cannot be used with:--to verity --no-superblock --uuid $nil m out" \
    "'1234' is not a UUID:--to verity --uuid 1234 m out" \
    "is not a UUID:--to verity --uuid ${nil}0 m out" \
    "is not a UUID:--to verity --uuid 0000000-00000-0000-0000-000000000000 m out" \
    "is not a UUID:--to verity --uuid 00000000-0000-0000-0000-00000000000g m out" \
    "superblock is for --to verity:--to fsverity --no-superblock m" \
    "descriptor is for --to fsverity:--to verity --descriptor d m out" \
    "image is for --to fsverity:--to leaves --image image m out" \
    "format is for --image:--to fsverity -f raw m" \
    "the format bochs cannot be read:--to fsverity --image image -f bochs m" \
    "standard output:--to leaves m -" "standard output:--to fsverity --descriptor - m"
do
  fails "${usage%%:-*}" blkhash export -${usage#*:-}
done

# Manifests of which these forms cannot be made.
make='make it by blksum -d sha256/4k --manifest FILE, or in the filter by blkhash-digest=sha256/4k$'
for spec in sha256/64k sha256/8k md5/4k sha512/512 blake2b512/4k sha512-256/4k; do
  manifest image $spec
  fails "m: is a manifest of blk-$spec, .*$make" blkhash export --to verity m out
  fails "m: is a manifest of blk-$spec, .*$make" blkhash export --to fsverity m
done
for spec in sha256/4k/s64 sha256/64k/s1 sha256/4k/linear; do
  manifest image $spec
  fails "m: is a manifest of blk-$spec, whose sum is not" \
        blkhash export --to leaves m out
done
manifest image null/64k
fails "m: .*null" blkhash export --to leaves m out
mkdir parts
blkhash parts -d sha256/4k --state x --part 0/2 image parts > log
mv parts/part* part
rm -r parts
ls -A > before
for to in verity leaves; do
  fails "part: is the manifest of a part" blkhash export --to $to part out
done
fails "part: is the manifest of a part" blkhash export --to fsverity part
manifest empty
fails "m: is of an empty image" blkhash export --to verity m out
for size in 1 4095 4097 819199; do
  head -c $size image > short
  ls -A > before
  manifest short
  fails "m: is of an image of $size bytes.*whole blocks" \
        blkhash export --to verity m out
done
fails "gone: cannot open: No such file" blkhash export --to verity gone out
fails "image: not a blkhash manifest" blkhash export --to leaves image out

# The image of fs-verity.
write_data short 815104 4095
manifest short
fails "m: .*give --image FILE" blkhash export --to fsverity m
fails "image: has 819200 bytes, m 819199" \
      blkhash export --to fsverity --image image m
fails "gone: cannot open" blkhash export --to fsverity --image gone m
mkfifo fifo
ls -A > before
for other in fifo . /dev/null /proc/version; do
  [ ! -e $other ] || fails "$other: is not a file" \
    blkhash export --to fsverity --image $other m
done
fails "nbd://localhost/x: cannot open" \
      blkhash export --to fsverity --image nbd://localhost/x m
fails "-: cannot open" sh -c 'blkhash export --to fsverity --image - m < short'
cp short other
printf x | dd of=other bs=1 seek=819100 conv=notrunc status=none
ls -A > before
for output in human json; do
  run 1 blkhash export --to fsverity --image other --descriptor out \
      --output=$output m
  says "out: writing 256 bytes" "other: 4095 bytes at 815104 differ from m"
  leaves_nothing
  [ $output = human ] || grep -q '"result":"differs"}$' stdout || fail "no result"
done
# Zeros in the manifest are compared, too.
for size in 3 8195; do
  rm other
  truncate -s $size other
  manifest other
  run 0 blkhash export --to fsverity --image other m
  [ "$(cat stdout)" = "sha256:$(refverity digest sha256 other)" ] ||
    fail "another digest of zeros"
  printf x | dd of=other bs=1 seek=$((size - 1)) conv=notrunc status=none
  run 1 blkhash export --to fsverity --image other m
  says_once "other: 3 bytes at $((size - 3)) differ from m"
done
manifest short
# Of a manifest that is not verified nothing differs.
"$PYTHON" - << 'END'
import refmanifest
data = open("m", "rb").read()
# The end is a record with the sum, and a CRC that continues that of the header.
open("wrong", "wb").write(data[:-56] + refmanifest.end(data[:512], 200, bytes(32)))
END
cp short other
printf x | dd of=other bs=1 seek=819100 conv=notrunc status=none
refuses "wrong: .*sum" blkhash export --to fsverity --image other wrong
rm wrong
# What is not the last block is not read.  So the name of the file is not printed, as
# fsverity does: this is not its digest.
cp short other
printf x | dd of=other bs=1 seek=100 conv=notrunc status=none
run 0 blkhash export --to fsverity --image other m
[ "$(cat stdout)" = "sha256:$(refverity digest sha256 short)" ] ||
  fail "another digest"
# A raw disk that begins like an image in another format, and ends with data.
printf 'QED\0' > other
truncate -s 8195 other
write_data other 8192 3
blksum -d sha256/4k -f raw --manifest m other > sum
refuses "other: .*looks like a qed image.*-f raw" \
        blkhash export --to fsverity --image other m
run 0 blkhash export --to fsverity --image other -f raw m
[ "$(cat stdout)" = "sha256:$(refverity digest sha256 other)" ] ||
  fail "another digest of a disk like an image"
if command -v qemu-img > /dev/null && (requires_qemu) > log; then
  qemu-img create -q -f qcow2 qcow2 64k
  truncate -s 256k raw
  blksum -d sha256/4k --manifest m raw > sum
  ls -A > before
  truncate -s 256k qcow2
  fails "qcow2: is a qcow2 image, and fs-verity is of the file" \
        blkhash export --to fsverity --image qcow2 m
  # The message names no option that export does not have.
  qemu-nbd --persistent --fork --pid-file=pid -k "$dir/sock" -f raw raw
  kill_at_exit "$(cat pid)"
  refuses "raw: is in use by another program, .* machine?)$" \
          blkhash export --to fsverity --image raw m
  kill "$(cat pid)"
  wait_until has_ended "$(cat pid)"
  rm -f sock pid
fi

# An existing file is never replaced.
manifest image
echo mine > out
for to in verity leaves; do
  refuses "m: out exists, and is not replaced" blkhash export --to $to m out
done
refuses "m: out exists" blkhash export --to fsverity --descriptor out m
[ "$(cat out)" = mine ] || fail "a file was replaced"
rm out
ln -s nothing out
refuses "m: out exists" blkhash export --to leaves m out
[ ! -e nothing ] || fail "a link was followed"
rm out
mkdir out
refuses "m: out exists" blkhash export --to leaves m out
rmdir out
# Also if it appears meanwhile.
late () {
  { head -c 1000 m; wait_until test -s stderr; echo mine > out; tail -c +1001 m; } |
    blkhash export --to leaves - out
}
run 2 late
says "out: writing 6408 bytes" "-: cannot create out: File exists"
[ "$(cat out)" = mine ] || fail "a file was replaced"
rm out
if mknod device b 7 0 2> log; then
  refuses "device is a device, .* new file: write one, and copy it by dd if=FILE" \
          blkhash export --to verity m device
  # Nothing reads leaves from a device, so it is the image: nothing is copied to it.
  refuses "m: device exists, and is not replaced" blkhash export --to leaves m device
  rm device
fi
ls -A > before
fails "cannot create gone/out: No such file" blkhash export --to leaves m gone/out
# Nothing is written for a name that leaves no room for that of the temporary file.
fails "cannot create 0*: File name too long" \
      blkhash export --to leaves m "$(printf '%0250d' 0)"
if [ "$(id -u)" != 0 ]; then
  mkdir readonly
  chmod 555 readonly
  ls -A > before
  fails "cannot create readonly/out: Permission denied" \
        blkhash export --to leaves m readonly/out
fi

# Only the result cannot be printed: the file is complete, and stays.
if [ -c /dev/full ]; then
  run 2 sh -c 'blkhash export --to leaves m out > /dev/full'
  says "out: writing 6408 bytes" "write error: No space left on device"
  [ "$(sha256sum < out)" = "${sum#blk-sha256/4k:}  -" ] || fail "other leaves"
  rm out
fi

# A damaged manifest, also one whose sum alone is wrong: after the leaves.
"$PYTHON" - << 'END'
import refmanifest
data = open("m", "rb").read()
open("cut", "wb").write(data[:-1])
bad = bytearray(data)
bad[1000] ^= 1
open("bad", "wb").write(bad)
open("wrong", "wb").write(data[:-56] + refmanifest.end(data[:512], 200, bytes(32)))
END
ls -A > before
for to in verity leaves; do
  run 2 blkhash export --to $to cut out
  says "out: writing [0-9]* bytes" "cut: the manifest is cut off"
  [ ! -s stdout ] || fail "printed something"
  leaves_nothing
  run 2 blkhash export --to $to bad out
  says "out: writing [0-9]* bytes" "bad: the record at byte [0-9]* has a wrong CRC"
  leaves_nothing
  run 2 blkhash export --to $to wrong out
  says "out: writing [0-9]* bytes" "wrong: .*sum"
  [ ! -s stdout ] || fail "printed something"
  leaves_nothing
done
fails "wrong: .*sum" blkhash export --to fsverity wrong

# No space: a size limit of files, and a full file system.
run 2 sh -c 'ulimit -f 1; blkhash export --to leaves m out'
says "out: writing 6408 bytes" "m: cannot write out: File too large"
leaves_nothing
mkdir full
ls -A > before
if unshare --mount sh -c 'mount -t tmpfs -o size=8k none full' 2> log; then
  run 2 unshare --mount sh -c 'mount -t tmpfs -o size=8k none full
    trap "ls -A full; exit 2" EXIT
    blkhash export --to verity m full/out'
  says "full/out: writing 16384 bytes" \
       "m: cannot write full/out: No space left on device"
  [ ! -s stdout ] || fail "left behind: $(cat stdout)"
fi

# 600 bytes can be the manifest of 2^63 zeros: it is refused before anything is
# written, or needs no memory.
"$PYTHON" - << 'END'
import refmanifest
for name, size in ("huge", 2**63), ("most", 2**64 - 2**12):
    head = refmanifest.header(refmanifest.tag("sha256", 4096, 0, False), size, 0,
                              size // 4096)
    open(name, "wb").write(
        head + refmanifest.record(0, refmanifest.ZERO | size // 4096, b"") +
        refmanifest.end(head, size // 4096, bytes(32)))
head = refmanifest.header(refmanifest.tag("sha512", 4, 0, False), 2**63, 0, 2**61)
open("overflow", "wb").write(
    head + refmanifest.record(0, refmanifest.ZERO | 2**61, b"") +
    refmanifest.end(head, 2**61, bytes(64)))
END
ls -A > before
limited () {
  run 2 sh -c 'ulimit -f 1000; exec "$@"' -- "$@"
}
limited blkhash export --to verity huge out
says "out: writing 72624976668155904 bytes" "huge: cannot write out: File too large"
leaves_nothing
limited blkhash export --to verity most out
says "out: writing [0-9]* bytes" "most: cannot write out: File too large"
limited blkhash export --to leaves overflow out
says_once "overflow: cannot write out: File too large"
leaves_nothing

[ -z "$missing" ] || skip "compared only with the reference: without$missing"

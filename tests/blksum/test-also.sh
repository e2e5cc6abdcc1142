#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum --also prints plain digests of the content, those that sha256sum and other
# programs print of the raw image; --expect and --check compare with them.

. "$(dirname "$0")/../functions.sh"
requires_program sha256sum md5sum sha1sum sha512sum

cd "$dir"
make_image raw
truncate -s 8388607 raw
cp raw other
write_data other 4000000 1
sum=$(reference raw)
sha256=$(sha256sum < raw | cut -d ' ' -f 1)
md5=$(md5sum < raw | cut -d ' ' -f 1)
zeros=$(echo $sha256 | tr 0-9a-f 0)

# plain DIGEST FILE: prints the digest as another program computes it.
plain () {
  case $1 in
    blake3)
      if command -v b3sum > /dev/null; then
        b3sum --no-names "$2"
      else
        "$PYTHON" -c 'import reference, sys
print(reference.blake3(open(sys.argv[1], "rb").read()).hex())' "$2"
      fi ;;
    *) "${1}sum" < "$2" | cut -d ' ' -f 1 ;;
  esac
}

# also DIGESTS TWIN COMMAND...: COMMAND, which runs blksum --also DIGESTS --no-names,
# prints those of the raw image TWIN.
also () {
  digests=$1 twin=$2
  shift 2
  run 0 "$@" --no-names --also "$digests"
  [ ! -s stderr ] || fail "unexpected message"
  for digest in $(echo "$digests" | tr , ' '); do
    echo "content-$digest = $(plain $digest "$twin")"
  done > expected
  sed 1d stdout | cmp expected - || fail "other digests than in expected"
  grep -q '^blk-[^ ]* = ' stdout || fail "no sum"
}
from_pipe () { cat "$input" | blksum "$@"; }

# ---- The lines ----

run 0 blksum --also sha256,md5 raw
cat > lines << END
blk-sha256/64k (raw) = $sum
content-sha256 (raw) = $sha256
content-md5 (raw) = $md5
END
cmp lines stdout || fail "not in lines"
run 0 blksum --also SHA256,sha256 --also md5 -d sha256/64k --tag raw
cmp lines stdout || fail "not in lines, with other options"
run 0 blksum --also sha256 -d md5/4k/s3 --no-names raw
printf '%s\n' "blk-md5/4k/s3 = $(reference -d md5 -b 4096 -s 3 raw)" \
  "content-sha256 = $sha256" | cmp - stdout || fail "not with another spec"
name='back\slash
newline'
cp raw "$name"
run 0 blksum --also sha256 "$name"
printf '%s\n' '\blk-sha256/64k (back\\slash\nnewline) = '$sum \
  '\content-sha256 (back\\slash\nnewline) = '$sha256 |
  cmp - stdout || fail "names are not escaped"
run 0 blksum -z --also sha256 "$name"
printf '%s\0' "blk-sha256/64k ($name) = $sum" "content-sha256 ($name) = $sha256" |
  cmp - stdout || fail "not lines that end with NUL"
run 0 blksum --also sha256,md5 --output json raw
grep -q "\"hole-bytes\":[0-9]*,\"content\":{\"sha256\":\"$sha256\",\
\"md5\":\"$md5\"},\"seconds\"" stdout || fail "no content in JSON"
# Each image has its lines; one that cannot be read has none.
run 2 blksum --also sha256,md5 raw missing raw
cat lines lines | cmp - stdout || fail "not the lines of two images"
says_once "missing: cannot open"

# All lines of an image are one write, however long: a packet on this socket.
cat > writes.py << 'END'
import socket, subprocess, sys
reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
name = "./" * 1500 + "raw"
process = subprocess.Popen(sys.argv[1:] + [name, name], stdout=writer)
writer.close()
packets = []
while packet := reader.recv(100000):
    packets.append(packet.count(b"\n"))
sys.exit(process.wait() or packets != [8, 8])
END
run 0 "$PYTHON" writes.py blksum \
    --also sha256,md5,sha1,sha224,sha384,sha512,sha3-256

# No other program takes a list of such lines for sums of files.
grep content- lines > list
run 1 sha256sum --check list
grep -q "no properly formatted" stderr || fail "sha256sum accepts the list"

# ---- Digests and images ----

for digest in md5 sha1 sha256 sha512; do
  also $digest raw blksum raw
done
also sha256,md5,sha1,sha224,sha384,sha512 raw blksum -t 1 raw
head -c 70001 other > small
! blksum -l | grep -q -x blake3 || also blake3,sha256 small blksum small

# Odd sizes, with and without holes, from a pipe, with one thread and with many.
for size in 0 1 63 64 65 511 65535 65536 65537 1048577 3000001; do
  head -c $size other > data
  truncate -s $size hole
  for input in data hole; do
    every 2 3 || continue
    also sha256,md5 $input blksum $input
    also sha256 $input blksum -t 7 --no-extents $input
    also sha256 $input from_pipe -
  done
done
input=raw
also sha256,sha512,md5 raw from_pipe -t 3
also sha256 raw blksum -b 512 raw
also md5 raw blksum -b 16m raw

# More data than is held, and a hole after data.
truncate -s 200m large
write_data large 3 60000000
write_data large 100000000 50000000
also sha256,md5 large blksum large
also sha256 large blksum --no-extents large
input=large
also sha256 large from_pipe

# --size: the digest is that of these bytes.
head -c 1000001 raw > first
also sha256,md5 first blksum --size 1000001 raw
input=raw
also sha256 first from_pipe --size 1000001

# --manifest: the same manifest, and the sum beside it.
blksum --manifest plain.blkm raw > stdout
also sha256,md5 raw blksum --manifest also.blkm raw
cmp plain.blkm also.blkm || fail "another manifest with --also"
blksum --manifest plain.blkm large > stdout
also sha256 large blksum --manifest also.blkm large
cmp plain.blkm also.blkm || fail "another manifest of a large image"

# Progress goes with the digests, which read holes, too.
truncate -s 256m hole
run 0 blksum --also md5 --progress=3 hole 3> progress
[ "$(wc -l < progress)" -gt 50 ] || fail "a hole is passed at once"
[ "$(tail -n 1 progress)" = 100/100 ] || fail "progress does not end"

# ---- Refused ----

refuses "--part needs" blksum --also sha256 --part 0/2 raw
refuses "--also cannot be used with --check" blksum --check --also sha256 list
refuses "--also cannot be used with --expect" \
        blksum --expect $sum --also sha256 raw
refuses "unknown digest 'sha257', see" blksum --also sha256,sha257 raw
refuses "unknown digest ''" blksum --also sha256, raw
refuses "unknown digest 'sha256/64k'" blksum --also sha256/64k raw
refuses "length is zero" blksum --also null raw
refuses "more than 8 digests" blksum \
  --also md5,sha1,sha224,sha256,sha384,sha512,sm3,ripemd160,sha3-256 raw
refuses "writes to stdout" blksum --also sha256 --manifest - raw
refuses "plain.blkm: .*a manifest, which has no data" \
        blksum --also sha256 manifest:plain.blkm

# ---- No line ----

for event in "touch" "truncate -s 4m"; do
  cp large changed
  refuses "changed: .*\(changed\|truncated\)" \
          midway "$event changed" --also sha256,md5 changed
done
run 130 midway 'kill -INT $pid' --also sha256,md5 large
[ ! -s stdout ] || fail "a line after SIGINT"
if [ -c /dev/full ]; then
  status=0
  blksum --also sha256 raw > /dev/full 2> stderr || status=$?
  [ $status = 2 ] || fail "exit status $status with a full output"
  says_once "write error: No space left"
fi

# ---- --expect ----

nl='
'
cr=$(printf '\r')
for text in "content-sha256:$sha256" "content-sha256 = $sha256" \
            "content-sha256 (other) = $sha256" "content-md5:$md5" \
            "content-md5 = $(echo $md5 | tr a-f A-F)$cr$nl" \
            "content-SHA256:$sha256" "\\content-sha256 (a\\nb) = $sha256" \
            "# comment$nl$nl  content-sha256 (a (b) = c) = $sha256"; do
  run 0 blksum --expect "$text" raw
  [ "$(cat stdout)" = "raw: OK" ] && [ ! -s stderr ] || fail "not OK"
  # It is of the content, whatever the spec of a sum is.
  run 0 blksum -d md5/4k --expect "$text" raw
done
run 1 blksum --expect "content-sha256:$sha256" other
[ "$(cat stdout)" = "other: FAILED (content-sha256)" ] || fail "not FAILED"
says "other: expected content-sha256 = $sha256$" \
     "other: got      content-sha256 = $(plain sha256 other)$"
run 1 blksum --expect "content-sha256:$zeros" raw
input=large
run 0 from_pipe --expect content-md5:$(plain md5 large)
run 0 blksum --size 1000001 --expect content-sha256:$(plain sha256 first) raw
run 1 blksum --expect content-md5:$md5 --output json other
echo "{\"name\":\"other\",\"sum\":\"content-md5:$(plain md5 other)\",\
\"expected\":\"content-md5:$md5\",\"result\":\"differs\"}" | cmp - stdout ||
  fail "other JSON"
refuses "missing: .*No such file" blksum --expect content-md5:$md5 missing
refuses "a manifest, which has no data" \
        blksum --expect content-md5:$md5 manifest:plain.blkm
refuses "--part needs" blksum --expect content-md5:$md5 --part 0/2 raw
refuses "63 digits" blksum --expect content-sha256:${sha256#?} missing
refuses "unknown digest 'sha257'" blksum --expect content-sha257:$sha256 missing
refuses "null sums have 0" blksum --expect content-null:$sha256 missing
refuses "not 'content-DIGEST" blksum --expect "content-sha256 = " missing
refuses "not 'content-DIGEST" blksum --expect "content-sha256 (a = $md5" missing
refuses "two sums" blksum --expect "$(cat lines)" missing
# The sum of a file has two ways out.
for text in "sha256:$sha256" "SHA256 (raw) = $sha256" "sha256 = $sha256" \
            "SHA2-256(raw)= $sha256"; do
  refuses "--expect: sha256:$(echo $sha256 | cut -c 1-8)... is the sum of a \
file: sha256sum disk.qcow2; if it is of the raw disk in it, content-sha256:" \
          blksum --expect "$text" disk.qcow2
done
refuses "openssl dgst -sha3-256 -; if" blksum --expect "sha3-256:$sha256"
refuses "it is the sum of a file; blk-" blksum --expect "sha257:$sha256" missing
# Where there is no data, a sum is needed.
refuses "it is a digest of the content; blk-" \
        blkhash repair --manifest plain.blkm --sum content-md5:$md5 \
                --from raw other

# ---- --check ----

# checks STATUS VERDICT...: the last lines were checked with these verdicts.
checks () {
  wanted=$1
  shift
  run $wanted blksum --check list
  printf '%s\n' "$@" | cmp - stdout || fail "other verdicts"
}
cp lines list
checks 0 "raw: OK" "raw: OK" "raw: OK"
grep content- lines > list
checks 0 "raw: OK" "raw: OK"
# In any order, with comments between them, for several images.
{
  grep content- lines
  echo "# comment"
  grep -v content- lines
  sed 's/(raw)/(other)/' lines
  cat lines
} > list
checks 1 "raw: OK" "raw: OK" "raw: OK" \
  "other: FAILED" "other: FAILED (content-sha256)" "other: FAILED (content-md5)" \
  "raw: OK" "raw: OK" "raw: OK"
says "WARNING: 3 computed checksums did NOT match"
# A line of another image begins another group.
{
  grep -v content- lines
  sed -n 's/content-sha256 (raw)/content-sha256 (other)/p' lines
} > list
checks 1 "raw: OK" "other: FAILED (content-sha256)"
{
  grep -v content- lines
  blksum --also sha256 other | grep content-
} > list
checks 0 "raw: OK" "other: OK"
sed "2s/$sha256/$zeros/" lines > list
checks 1 "raw: OK" "raw: FAILED (content-sha256)" "raw: OK"
# One read for all lines of an image: a pipe cannot be read again.
sed 's/(raw)/(-)/' lines > list
input=raw
run 0 from_pipe --check list
[ "$(grep -c -x -e '-: OK' stdout)" = 3 ] || fail "not one read"
# A line that is not a sum is reported in its place.
{
  sed 2q lines
  echo "# unknown x: WHY"
  sed 1,2d lines
} > list
checks 2 "raw: OK" "raw: OK" "x: FAILED unknown" "raw: OK"
# Images that cannot be read; names of manifests; parts.
sed 's/(raw)/(missing)/' lines > list
checks 2 "missing: FAILED open or read" "missing: FAILED open or read" \
  "missing: FAILED open or read"
cat lines >> list
run 0 blksum --check --ignore-missing list
[ "$(grep -c 'raw: OK' stdout)" = 3 ] || fail "not with --ignore-missing"
blksum --manifest raw.blkm raw > stdout
sed 's/(raw)/(manifest:raw.blkm)/' lines > list
checks 2 "manifest:raw.blkm: OK" "manifest:raw.blkm: FAILED open or read" \
  "manifest:raw.blkm: FAILED open or read"
cp lines list
run 2 blksum --check --part 0/2 list
[ "$(sed 1d stdout)" = "raw: FAILED open or read
raw: FAILED open or read" ] || fail "content with --part"
grep -q "^raw: OK (part 0/2" stdout || fail "no part"
says "raw: --part: .*of the whole image" "raw: --part: .*of the whole image" \
     "WARNING: 2 listed files could not be read"
# A damaged line is an error; a header of mail is text.
{ sed 's/sha256 (/sha256 /' lines; echo "content-type: text/plain"; } > list
checks 2 "raw: OK" "raw: OK"
says "list: 2: improperly formatted" "WARNING: 2 lines are improperly formatted"
sed 's/content-sha256/content-sha257/' lines > list
checks 2 "raw: OK" "raw: OK"

# ---- Formats and servers ----

requires_qemu
# converted FORMAT [OPTION]...: the image has the digests of the raw twin.
converted () {
  rm -f image twin
  if ! qemu-img convert -f raw -O "$@" large image 2> convert.log; then
    echo "not made here: $(cat convert.log)"
    return
  fi
  qemu-img convert -f "$1" -O raw image twin
  also sha256,md5 twin blksum -f "$1" image
  [ "$1" != qcow2 ] || BLKSUM_DIRECT=0 also sha256 twin blksum image
}
converted qcow2
converted qcow2 -c
converted qcow2 -o cluster_size=4k
converted vmdk
converted vmdk -o subformat=streamOptimized
converted vdi
converted vhdx
converted vpc
converted vpc -o force_size=on
qemu-img create -q -f qcow2 -b large -F raw overlay
qemu-io -f qcow2 -c 'write -q -P 7 70m 3m' overlay > io.log 2>&1 ||
  fail "qemu-io: $(cat io.log)"
qemu-img convert -f qcow2 -O raw overlay twin
also sha256 twin blksum -f qcow2 overlay
# qemu-nbd refuses the image at first: it is then read again, by qemu alone.
qemu_nbd=$(command -v qemu-nbd)
cat > bin/qemu-nbd << END
#!/bin/sh
[ -e '$dir/refused' ] && exec '$qemu_nbd' "\$@"
: > '$dir/refused'
exit 1
END
chmod +x bin/qemu-nbd
qemu-img convert -f raw -O qcow2 large image
qemu-img convert -f qcow2 -O raw image twin
also sha256,md5 twin blksum image
[ -e refused ] || fail "qemu-nbd did not refuse the image"
rm bin/qemu-nbd

# A read error.
start_evil_server raw error
refuses "cannot read" blksum --also sha256 "$uri"
stop_evil_server

requires_nbdkit file eval
start_nbdkit file raw
also sha256,md5,sha512 raw blksum "$uri"
start_nbdkit file large
for options in "" "--read-size 32m" "--read-size 64k --queue-depth 1" \
               "--no-extents -t 7"; do
  also sha256,md5 large blksum $options "$uri"
done
# The first range arrives last, and the others are held.
start_nbdkit eval get_size='echo 167772160' can_multi_conn='exit 0' pread="
  [ \$4 != 0 ] || sleep 1
  dd if='$dir/large' bs=1M skip=\$4 count=\$3 \
     iflag=skip_bytes,count_bytes,fullblock status=none"
head -c 167772160 large > first
also sha256 first blksum "$uri"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The result file of the verify filter: the sum if all was verified, and else
# why there is none.  blksum --check reads it.

. "$(dirname "$0")/../verify-functions.sh"

prove "$image"
cd "$dir"
cp "$image" disk

# result ARGUMENT...: serve with a result file.
result () {
  verify "$@" blkhash-verify-file="$sums"
}

# data: the bytes that are not in blocks of zeros.
data=$("$PYTHON" -c '
import sys
data = open(sys.argv[1], "rb").read()
print(sum(len(data[i:i + 65536]) for i in range(0, len(data), 65536)
          if any(data[i:i + 65536])))' "$image")
zeros=$((8388608 - data))
tagged_line="blk-sha256/64k (-) = $(reference "$image")"

# ---- What is in it ----

# All is read; the server goes on.
result file disk
wait_for_line '# unknown -: 8388608 bytes are missing'
run 2 blksum --check "$sums"
client "" "$reads
right(512, 0)"
wait_for_line '# unknown -: 8323072 bytes are missing'
copy "$uri" copy
wait_for_line "$tagged_line"
[ "$(without_header "$sums" | wc -l)" = 1 ] || fail "$(cat "$sums")"
run 0 sh -c 'blksum --check "$1" < copy' sh "$sums"

# A block that was right differs when it is read again, and is right once more:
# the disk has changed, so the other blocks count as missing.
client "" "$reads
import subprocess
def check(line):
    def is_there():
        with open('$sums') as f:
            return f.read() == '$result_header\n' + line + '\n'
    wait_until(is_there)
def flip():
    with open('disk', 'r+b') as f:
        f.seek(1048600)
        byte = f.read(1)[0]
        f.seek(1048600)
        f.write(bytes([byte ^ 1]))
other = connect('')
other.pread(len(truth), 0)
other.shutdown()
flip()
fails(65536, 1048576)
connect('').shutdown()
check('# differs -: 65536 bytes')
run = subprocess.run(['blksum', '--check', '$sums'], stdout=subprocess.PIPE)
assert run.returncode == 1 and run.stdout == b'-: FAILED differs\n', run
flip()
right(65536, 1048576)
connect('').shutdown()
check('# unknown -: 8323072 bytes are missing')
right(len(truth), 0)"
wait_for_line "$tagged_line"
logged 1 'blkhash-verify: 65536 bytes at 1048576 did not differ when they were read'
logged 1 'blkhash-verify: 65536 bytes at 1048576 differed when they were read'

# The states begin anew with the first client, whose disk can be another one, or
# when the size is another one.
wait_until all_disconnected
client "" "right = None"
wait_for_line '# unknown -: 8388608 bytes are missing'
cp disk larger
printf more >> larger
client "" "$reads
right(len(truth), 0)
os.rename('larger', 'disk')
try:
    connect('')
    assert False
except nbd.Error:
    pass
right(65536, 0)"
stop
cp "$image" disk
has_line '# unknown -: 8388608 bytes are missing' || fail "$(cat "$sums")"
only_result () {
  [ "$(ls "$sums"*)" = "$sums" ] || fail "left behind: $(ls "$sums"*)"
}
only_result

# What made a request fail is written before the client gets the error: nbdkit may
# abort then.
result file disk
flip disk 1048600
client "" "$reads
import signal
fails(65536, 1048576)
os.kill($server, signal.SIGKILL)
os._exit(0)"
wait $server || :
has_line '# differs -: 65536 bytes' || fail "$(cat "$sums")"
flip disk 1048600

# The earlier result is replaced.  With "warn" blocks that differ do not end a copy.
flip disk 1048600
result file disk blkhash-verify-fail=warn
[ "$(cat "$sums")" != "$tagged_line" ] || fail "the old sum is there"
copy "$uri" copy
stop
has_line '# differs -: 65536 bytes' || fail "$(cat "$sums")"
run 1 blksum --check "$sums"
flip disk 1048600

# It cannot be read; and more was not read.
touch trigger
result --filter=error file disk error-pread-rate=100% error-file=trigger
client "" "$reads
fails(65536, 0)"
wait_for_line "# unknown -: 65536 bytes cannot be read, 8323072 bytes are missing"
client "" "$reads
for at in range(0, len(truth), 65536):
    if any(truth[at:at + 65536]):
        fails(512, at)"
stop
has_line "# unknown -: $data bytes cannot be read" || fail "$(cat "$sums")"
run 2 blksum --check "$sums"
says "cannot be read" "has no sum"

# Zeros are verified by extents, or by reading, without the client.
"$PYTHON" -c '
import os
with open("disk", "r+b") as f:
    f.seek(2359296)
    f.write(b"not zero")'
for more in --filter=delay --filter=noextents; do
  result $more file disk
  copy "$uri" copy
  cmp "$image" copy || fail "the copy differs"
  stop
  has_line '# differs -: 65536 bytes' || fail "$(cat "$sums")"
  run 1 blksum --check "$sums"
done
rm -f disk
cp "$image" disk
result --filter=noextents file disk
copy "$uri" copy
stop
has_line "$tagged_line" || fail "$(cat "$sums")"

# Zeros that are not read, on request.
result file disk blkhash-verify-zero=skip
copy "$uri" copy
stop
has_line "# unknown -: $zeros bytes of zeros are missing" ||
  fail "$(cat "$sums")"
run 2 blksum --check "$sums"

# Zeros that are read count as such.
result file disk blkhash-verify-zero=read
client "" "$reads
right(512, 0)"
wait_for_line '# unknown -: 8323072 bytes are missing'
copy "$uri" copy
stop
has_line "$tagged_line" || fail "$(cat "$sums")"

# No client was there, or it could not connect.
for more in "" more; do
  printf '%s' "$more" >> disk
  result file disk
  [ -z "$more" ] || run 1 nbdinfo "$uri"
  stop
  has_line '# unknown -: 8388608 bytes are missing' ||
    fail "$(cat "$sums")"
done
rm "$sums"

# A client need not read a disk of zeros, nor an empty one.
for size in 1000000 0; do
  truncate -s $size zeros
  prove zeros
  result file zeros
  run 0 nbdinfo "$uri"
  stop
  has_line "blk-sha256/64k (-) = $(reference zeros)" || fail "$(cat "$sums")"
  rm "$sums"
  rm zeros
done

# The last block is short; names are escaped.
head -c 100001 "$image" > short
prove short
flip short 100000
result file short blkhash-verify-name='a\b: c' blkhash-verify-fail=warn
copy "$uri" copy
stop
has_line '# differs a\\b: c: 34465 bytes' || fail "$(cat "$sums")"
run 1 blksum --check "$sums"
flip short 100000
cp short 'a\b: c'
result file short blkhash-verify-name='a\b: c'
copy "$uri" copy
stop
run 0 blksum --check "$sums"

# With "none" the sum is computed, too: it is not what the manifest claims.
truncate -s 0 disk
cat "$image" > disk
rm "$sums"
for kind in "" "-d sha256/64k/s7" "-d sha256/64k/linear" "-d md5/4k"; do
  rm -f other.blkm
  blksum $kind --tag --manifest other.blkm disk > sum
  serve file disk blkhash-verify-manifest=other.blkm blkhash-verify-sum=none \
        blkhash-verify-file="$sums" blkhash-verify-name=disk
  copy "$uri" copy
  stop
  [ "$(without_header "$sums")" = "$(cat sum)" ] || fail "$(cat "$sums")"
  run 0 blksum --check "$sums"
  rm "$sums"
done

# ---- When it is written ----

# A killed server loses only what was found since then.
prove disk
result file disk
client "" "$reads
right(512, 0)"
wait_for_line '# unknown -: 8323072 bytes are missing'
kill -9 $server
wait $server || :
has_line '# unknown -: 8323072 bytes are missing' ||
  fail "$(cat "$sums")"
[ "$SANITIZE" = no ] || exit 0
result file disk
stop
only_result

# With --run it is there when nbdkit has ended.
run 0 nbdkit -U - --filter="$filter" file disk \
    blkhash-verify-manifest="$manifest" blkhash-verify-sum="$tagged" \
    blkhash-verify-file="$sums" --run 'nbdcopy "$uri" null:'
has_line "$tagged_line" || fail "$(cat "$sums")"

# ---- What is replaced ----

# refuses FILE REGEX ARGUMENT...: nbdkit does not start, and keeps FILE.
refuses () {
  cp "$1" kept
  regex=$2 kept_file=$1
  shift 2
  refuses_to_start "$regex" "$@" blkhash-verify-manifest="$manifest" \
                   blkhash-verify-sum="$tagged"
  cmp kept "$kept_file" || fail "$kept_file was changed"
  ! ls | grep 'blkhash-\(lock\|new\)$' || fail "left behind"
}

not_ours='is not a result of this command: it is not replaced'
refuses disk 'blkhash-verify-file and file are the same file' \
        file disk blkhash-verify-file=disk
refuses "$manifest" "and blkhash-verify-manifest are the same file" \
        file disk blkhash-verify-file="$manifest"
blksum --tag copy > list
refuses list "$not_ours" file disk blkhash-verify-file=list
echo '# differs a: 5 bytes' > text
refuses text "$not_ours" file disk blkhash-verify-file=text
blksum --tag -d sha512 - < disk > other
refuses other "$not_ours" file disk blkhash-verify-file=other
for line in "$tagged_line" '# bad a: 5 bytes' '# incomplete a: why'; do
  echo "$line" > "$sums"
  result file disk
  refuses_to_start "is in use by another nbdkit" file disk \
                   blkhash-verify-manifest="$manifest" \
                   blkhash-verify-sum=none blkhash-verify-file="$sums"
  stop
  has_line '# unknown -: 8388608 bytes are missing' ||
    fail "$(cat "$sums")"
done

# Another program puts a file there while nbdkit runs.
for output in file status mapfile; do
  verify file disk blkhash-verify-$output=out
  wait_until test -s out
  echo notes > put
  mv put out
  client "" "$reads
right(512, 0)"
  stop
  [ "$(cat out)" = notes ] || fail "their file was changed: $(cat out)"
  grep -q "error: blkhash-verify-$output: .*/out exists and is not" "$log" ||
    fail "the log does not say so"
  [ "$(ls out*)" = out ] || fail "left behind: $(ls out*)"
  rm out
done

# ---- A start that fails leaves no earlier result ----

# withdrawn REGEX ARGUMENT...
withdrawn () {
  run 0 nbdkit -U - --filter="$filter" file copy blkhash-verify-file=out \
      blkhash-verify-status=status blkhash-verify-mapfile=map \
      blkhash-verify-manifest="$manifest" blkhash-verify-sum="$tagged" \
      --run 'nbdcopy "$uri" null:'
  [ "$(without_header out)" = "$tagged_line" ] && [ -s status ] && [ -s map ] || fail out
  refuses_to_start "$@" blkhash-verify-file=out blkhash-verify-status=status \
                   blkhash-verify-mapfile=map
  for file in out status map; do
    [ -e $file ] && [ ! -s $file ] || fail "$file: $(cat $file)"
  done
  [ "$(ls out* status* map*)" = "map
out
status" ] || fail "left behind: $(ls out* status* map*)"
}
rm disk
m=blkhash-verify-manifest=$manifest
withdrawn 'disk: No such file' file disk $m blkhash-verify-sum="$tagged"
withdrawn 'disk: No such file' file disk $m blkhash-verify-sum=none
withdrawn 'its sum is not' file copy $m \
          blkhash-verify-sum="blk-sha256/64k:$(reference list)"
withdrawn 'there is no sum' file copy $m blkhash-verify-sum=
withdrawn 'none: No such file' file copy blkhash-verify-manifest=none \
          blkhash-verify-sum="$tagged"
withdrawn 'none: No such file' file copy blkhash-verify-manifest=none \
          blkhash-verify-sum=none

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A file that contains the image of a disk, such as compressed data or an archive,
# is hashed as it is, with a line on stderr that says so, and how to get the disk.
# Also images in other formats than raw, if they are not read from a file.

. "$(dirname "$0")/../functions.sh"
cd "$dir"

# Compressed data and archives, of which some are only a header.
"$PYTHON" - << 'END'
import bz2, gzip, io, lzma, random, tarfile, zipfile
disk = random.Random(1).randbytes(300000)
content = {
    "gz": gzip.compress(disk), "xz": lzma.compress(disk),
    "bz2": bz2.compress(disk), "zst": b"\x28\xb5\x2f\xfd" + disk,
    "7z": b"7z\xbc\xaf\x27\x1c\0\4" + disk,
    "E01": b"EVF\x09\x0d\x0a\xff\0\1\1" + disk,
    "simg": b"\x3a\xff\x26\xed\1\0\0\0" + disk,
    "qcow2": b"QFI\xfb\0\0\0\3" + disk, "vmdk": b"KDMV" + disk,
    "vhdx": b"vhdxfile" + disk, "vhd": b"conectix" + disk,
    "qcow": b"QFI\xfb\0\0\0\1" + disk, "qed": b"QED\0" + disk,
    # Not quite: the magic is at another offset, or is another.
    "raw": b"\0\x1f\x8b\x08" + disk, "luks": b"LUKS\xba\xbe\0\1" + disk,
}
with io.BytesIO() as f:
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("disk.raw", disk)
    content["zip"] = f.getvalue()
with io.BytesIO() as f:
    with tarfile.open(fileobj=f, mode="w") as t:
        info = tarfile.TarInfo("disk.ovf")
        info.size = len(disk)
        t.addfile(info, io.BytesIO(disk))
    content["ova"] = f.getvalue()
for name, data in content.items():
    with open("disk." + name, "wb") as f:
        f.write(data)
with open("disk", "wb") as f:
    f.write(disk)
END

# notes LINE STATUS COMMAND: exit status STATUS, and exactly this line on stderr.
notes () {
  note=$1
  status=$2
  shift 2
  run "$status" "$@"
  [ "$(sed 's/^blk[a-z]*: //' "$dir/stderr")" = "$note" ] || fail "$*
  expected $note"
}

# sums LINE FILE COMMAND: the same with the sum of FILE.
sums () {
  line=$1
  sum=$(reference "$2")
  shift 2
  notes "$line" 0 "$@"
  [ "$(cut -d ' ' -f 1 "$dir/stdout")" = "$sum" ] || fail "wrong sum: $*"
}

from_pipe () { cat "$1" | blksum; }
from_stdin () { blksum < "$1"; }

file='this is the sum of the file, not of the disk in it'

# ---- Files and pipes ----

# contains SUFFIX WHAT COMMAND
contains () {
  sums "disk.$1: is $2; $file: $3" "disk.$1" blksum "disk.$1"
  sums "-: is $2; $file: $3" "disk.$1" from_pipe "disk.$1"
  sums "-: is $2; $file: $3" "disk.$1" from_stdin "disk.$1"
  prints_sum "$(reference "disk.$1")" blksum -f raw "disk.$1"
}

contains gz 'gzip data' 'gzip -dc FILE | blksum'
contains xz 'xz data' 'xz -dc FILE | blksum'
contains zst 'zstd data' 'zstd -dc FILE | blksum'
contains bz2 'bzip2 data' 'bzip2 -dc FILE | blksum'
contains zip 'a zip archive' 'unzip FILE, and hash the image from it'
contains ova 'a tar archive' 'tar -xf FILE, and hash the image from it'
contains 7z 'a 7z archive' '7z x FILE, and hash the image from it'
contains E01 'an E01 image' 'ewfmount FILE DIR && blksum DIR/ewf1'
contains simg 'an Android sparse image' 'simg2img FILE RAW && blksum RAW'

for format in qcow2 vmdk vhdx vhd=vpc; do
  line="-: is a ${format#*=} image; $file: give its name as a file, or export\
 its disk by qemu-nbd -r -f ${format#*=} FILE"
  sums "$line" "disk.${format%=*}" from_pipe "disk.${format%=*}"
  sums "$line" "disk.${format%=*}" from_stdin "disk.${format%=*}"
done
for format in qcow qed; do
  line="-: is a $format image; $file: copy its disk with 'qemu-img convert -f\
 $format -O qcow2 IMAGE COPY'"
  sums "$line" disk.$format from_pipe disk.$format
  sums "$line" disk.$format from_stdin disk.$format
done
for name in raw luks; do
  prints_sum "$(reference disk.$name)" from_pipe disk.$name
done
: > empty
prints_sum "$(reference empty)" from_pipe empty

# The commands are right.
for suffix in gz=gzip xz=xz bz2=bzip2; do
  if command -v "${suffix#*=}" > /dev/null; then
    run 0 blksum "disk.${suffix%=*}"
    command=$(sed "s/.*: //; s/FILE/disk.${suffix%=*}/" stderr)
    [ "$(eval "$command")" = "$(reference disk)  -" ] || fail "$command"
  fi
done

# ---- Short reads ----

# The writer waits until each byte was read.
dribble () {
  "$PYTHON" -c '
import fcntl, struct, sys, termios, time
data = open(sys.argv[1], "rb").read()
def unread():
    return struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, bytes(4)))[0]
for at in range(600):
    sys.stdout.buffer.write(data[at:at + 1])
    sys.stdout.buffer.flush()
    while unread():
        time.sleep(0.0005)
sys.stdout.buffer.write(data[600:])' "$1" | blksum
}
sums "-: is a tar archive; $file: tar -xf FILE, and hash the\
 image from it" disk.ova dribble disk.ova

# ---- Jobs ----

sum=$(reference disk.gz)
line="disk.gz: is gzip data; $file: gzip -dc FILE | blksum"
notes "$line" 0 blksum --expect "$sum" disk.gz
run 1 blksum --expect "$(reference disk)" disk.gz
grep -qxF "blksum: $line" stderr || fail "no note with FAILED"
echo "$sum  disk.gz" > list
notes "$line" 0 blksum --check list
notes "$line" 0 blksum --check --quiet list
run 0 blksum --check --status list
[ ! -s stderr ] || fail "a note with --status"
notes "$line" 0 blksum --manifest disk.gz.blkm disk.gz
notes "$line" 0 blksum -b 4k --manifest disk.gz.blkm disk.gz
echo "blk-sha256/4k (disk.gz) = $(reference -b 4096 disk.gz)" > list
notes "$line" 0 blksum --check --part 0/1 list
notes "$line" 0 blksum --expect manifest:disk.gz.blkm --part 0/1 disk.gz
compared="this is the comparison of the file, not of the disk in it"
notes "disk.gz: is gzip data; $compared: gzip -dc FILE | blksum" 1 \
  blkhash compare disk disk.gz
compare_stdin () { blkhash compare disk - < disk.gz; }
compare_pipe () { cat disk.gz | blkhash compare disk -; }
notes "-: is gzip data; $compared: gzip -dc FILE | blksum" 1 compare_stdin
notes "-: is gzip data; $compared: gzip -dc FILE | blksum" 1 compare_pipe

# Several operands: a line for each, in order.
run 0 blksum disk.gz disk disk.xz
[ "$(cut -d ' ' -f 2 stderr)" = "disk.gz:
disk.xz:" ] || fail "not two notes"

# ---- NBD ----

requires_nbdkit file --filter=log

# reads LOG: the reads of the server.
reads () { grep -o 'Read.*offset=[^ ]* count=[^ ]*' "$1" | sort; }

start_nbdkit --filter=log file disk.gz logfile="$dir/log"
sums "$uri: is gzip data; $file: gzip -dc FILE | blksum" disk.gz \
  blksum "$uri"
start_nbdkit --filter=log file disk.gz logfile="$dir/raw-log"
prints_sum "$sum" blksum -f raw "$uri"
[ -n "$(reads log)" ] && [ "$(reads log)" = "$(reads raw-log)" ] ||
  fail "other reads for the note"
start_nbdkit file disk.qcow2
sums "$uri: is a qcow2 image; $file: give its name as a file, or export its\
 disk by qemu-nbd -r -f qcow2 FILE" disk.qcow2 blksum "$uri"

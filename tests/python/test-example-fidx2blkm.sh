#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/python/fidx2blkm.py makes of a fixed index of Proxmox Backup Server the
# manifest that blksum makes of its disk.  Indexes that are damaged, encrypted, or
# of which this is unknown, are refused.  The indexes are made here, as the format
# is published: no server was run.

. "$(dirname "$0")/../functions.sh"
. "$(dirname "$0")/python-functions.sh"
requires_program zstd

fidx2blkm () {
  $python "$abs_top_srcdir/examples/python/fidx2blkm.py" "$@"
}

# make_snapshot DISK [KEY=VALUE]...: $dir/snapshot, a backup of the disk with an
# index.  The keys are: chunk, the size of a chunk; mode, the crypt-mode; key, a
# secret that is hashed with each chunk; blob: plain, zstd or json.
make_snapshot () {
  rm -rf "$dir/snapshot"
  mkdir "$dir/snapshot"
  "$PYTHON" - "$dir/snapshot" "$@" << 'END'
import hashlib
import json
import struct
import subprocess
import sys
import zlib

directory, disk = sys.argv[1:3]
keys = {"chunk": "4194304", "mode": "none", "key": "", "blob": "zstd"}
keys.update(argument.split("=") for argument in sys.argv[3:])
chunk_size = int(keys["chunk"])


def sha256(data):
    return hashlib.sha256(data).digest()


def name(text):
    """How the magic numbers of the formats were made."""
    return sha256(text.encode())[:8]


with open(disk, "rb") as file:
    data = file.read()
digests = b"".join(sha256(data[i:i + chunk_size] + keys["key"].encode())
                   for i in range(0, len(data), chunk_size))
header = struct.pack("<16sq32sQQ", bytes(range(16)), 1764000000, sha256(digests),
                     len(data), chunk_size)
with open(directory + "/drive-scsi0.img.fidx", "wb") as file:
    file.write((name("Proxmox Backup fixed sized chunk index v1.0") + header)
               .ljust(4096, b"\0") + digests)
entry = {"filename": "drive-scsi0.img.fidx", "crypt-mode": keys["mode"],
         "size": len(data), "csum": sha256(digests).hex()}
if not keys["mode"]:
    del entry["crypt-mode"]
files = [{"filename": "qemu-server.conf.blob", "crypt-mode": "none", "size": 361,
          "csum": 64 * "1"}, entry]
text = json.dumps({"backup-type": "vm", "backup-id": "100", "backup-time": 1,
                   "files": files, "unprotected": {}}, indent=2).encode()
if keys["blob"] == "zstd":
    text = subprocess.run(["zstd", "-c"], input=text, check=True,
                          stdout=subprocess.PIPE).stdout
if keys["blob"] != "json":
    kind = "zstd compressed" if keys["blob"] == "zstd" else "uncompressed"
    text = name(f"Proxmox Backup {kind} blob v1.0") + \
        struct.pack("<I", zlib.crc32(text)) + text
with open(directory + "/index.json.blob", "wb") as file:
    file.write(text)
END
  index=$dir/snapshot/drive-scsi0.img.fidx
}

# converts SPEC DISK [OPTION]...: to the manifest and the sum of blksum.
converts () {
  spec=$1 disk=$2
  shift 2
  rm -f "$dir/blkm"
  run 0 fidx2blkm "$@" "$index" "$dir/blkm"
  [ ! -s "$dir/stderr" ] || fail "unexpected message"
  blksum --tag --no-names -d "$spec" --manifest "$dir/expected" "$disk" \
    > "$dir/sum"
  cmp "$dir/sum" "$dir/stdout" || fail "expected $(cat "$dir/sum")"
  cmp "$dir/expected" "$dir/blkm" || fail "another manifest"
}

# refuses_index REGEX [OPTION]...: there is no manifest.
refuses_index () {
  regex=$1
  shift
  rm -f "$dir/blkm"
  run 2 fidx2blkm "$@" "$index" "$dir/blkm"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  [ "$(wc -l < "$dir/stderr")" = 1 ] || fail "not one line on stderr"
  grep -q "^fidx2blkm.py: .*$regex" "$dir/stderr" || fail "does not say '$regex'"
  [ ! -e "$dir/blkm" ] || fail "made a manifest"
}

# flip OFFSET [FILE]: changes a byte, of the index.
flip () {
  byte=$(od -A n -t u1 -j "$1" -N 1 "${2:-$index}")
  printf "\\$(printf %o $((byte ^ 1)))" |
    dd of="${2:-$index}" bs=1 seek="$1" conv=notrunc status=none
}

# Data, zeros, a chunk with both, and a short last chunk of data or zeros.
truncate -s 30000000 "$dir/disk"
write_data "$dir/disk" 0 5000000
write_data "$dir/disk" 20000000 100
write_data "$dir/disk" 29999999 1
head -c 29500000 "$dir/disk" > "$dir/zeros-at-end"
head -c 25165824 "$dir/disk" > "$dir/whole-chunks"

for disk in "$dir/disk" "$dir/zeros-at-end" "$dir/whole-chunks"; do
  make_snapshot "$disk"
  converts sha256/4m "$disk"
done
make_snapshot "$dir/disk" chunk=65536 mode=sign-only blob=plain
converts sha256/64k "$dir/disk"
make_snapshot "$dir/disk" blob=json
converts sha256/4m "$dir/disk"
: > "$dir/empty"
make_snapshot "$dir/empty"
converts sha256/4m "$dir/empty"

# The disk is checked against its backup; and is not that of another day.
make_snapshot "$dir/disk"
mv "$dir/snapshot/index.json.blob" "$dir/list"
refuses_index 'No such file'
converts sha256/4m "$dir/disk" --index-json "$dir/list"
run 0 blksum --expect "manifest:$dir/blkm" "$dir/disk"
flip 20000000 "$dir/disk"
run 1 blksum --expect "manifest:$dir/blkm" "$dir/disk"
run 1 blkhash compare "manifest:$dir/blkm" "$dir/disk"
[ "$(cat "$dir/stdout")" = '4194304 bytes at 16777216 differ' ] ||
  fail "another range differs"

make_snapshot "$dir/disk" mode=encrypt key=secret
refuses_index 'the backup is encrypted, so'
make_snapshot "$dir/disk" mode=
refuses_index 'does not say whether the backup is encrypted'
make_snapshot "$dir/disk" mode=other
refuses_index 'does not say whether the backup is encrypted'
make_snapshot "$dir/zeros-at-end"
mv "$dir/snapshot/index.json.blob" "$dir/list"
make_snapshot "$dir/disk"
refuses_index 'does not list the index' --index-json "$dir/list"
echo '{"files": 7}' > "$dir/list"
refuses_index 'no list of the files' --index-json "$dir/list"
printf '[%.0s' $(seq 3000) > "$dir/list"
refuses_index 'no list of the files' --index-json "$dir/list"
flip 20 "$dir/snapshot/index.json.blob"
refuses_index 'index.json.blob: its checksum is wrong'

for chunk in 32768 4194305 8388608; do
  make_snapshot "$dir/disk" chunk=$chunk
  refuses_index "chunks of $chunk bytes"
done
make_snapshot "$dir/disk"
head -c 8 /dev/zero | dd of="$index" bs=1 seek=72 conv=notrunc status=none
refuses_index 'chunks of 0 bytes'

# A byte of the magic number, the checksum, the size, and a digest.
make_snapshot "$dir/disk"
cp "$index" "$dir/index"
for damage in '7 it is no fixed index' '40 does not list the index' \
              '64 does not list the index' '4200 its checksum is wrong'; do
  cp "$dir/index" "$index"
  flip ${damage%% *}
  refuses_index "${damage#* }"
done
head -c 4095 "$dir/index" > "$index"
refuses_index 'it is no fixed index'
head -c -1 "$dir/index" > "$index"
refuses_index 'it has not 8 digests'
{ cat "$dir/index"; echo; } > "$index"
refuses_index 'it has not 8 digests'
cp "$dir/index" "$index"
converts sha256/4m "$dir/disk"

# No other file is replaced.
cp "$dir/disk" "$dir/blkm"
run 2 fidx2blkm "$index" "$dir/blkm"
cmp "$dir/disk" "$dir/blkm" || fail "replaced a disk"

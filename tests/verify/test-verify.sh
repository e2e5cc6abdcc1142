#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Clients of the verify filter read what the manifest proves, or an error.

. "$(dirname "$0")/../verify-functions.sh"

bad="blkhash-verify: 65536 bytes at 1048576 differ from $manifest"
seed=${BLKHASH_SEED:-$(date +%s)}
echo "BLKHASH_SEED=$seed"
prove "$image"
cp "$image" "$dir/disk"

# All of it, as any client reads it.
verify file "$dir/disk"
copies
client "" "$reads
random.seed($seed)
for i in range(500):
    n = min(random.choice((1, 512, 4096, 100000, 3 << 20)), len(truth))
    right(n, random.randrange(len(truth) - n + 1))
right(len(truth), 0)
assert h.is_read_only() and h.can_multi_conn()
assert h.get_block_size(nbd.SIZE_MINIMUM) == 1
assert h.get_block_size(nbd.SIZE_PREFERRED) == 65536
assert h.get_block_size(nbd.SIZE_MAXIMUM) >= 32 << 20
def extents(context, offset, entries, err):
    at = offset
    for n, flags in zip(entries[::2], entries[1::2]):
        for block in range(at, at + n, 65536):
            zero = not any(truth[block:block + 65536])
            assert flags == (3 if zero else 0), (block, flags)
        at += n
    assert at == len(truth), at
h.block_status(len(truth), 0, extents)"
stop
! grep 'error:' "$log" || fail "there are errors"

# A bad block: it fails, whatever is read of it, and nothing else does.
flip "$dir/disk" 1048600
verify file "$dir/disk"
client "" "$reads
for i in range(3):
    fails(len(truth), 0)
    fails(512, 1048576)
    fails(1, 1048576 + 65535)
    fails(2, 1048575)
    right(1048576, 0)
    right(len(truth) - 1048576 - 65536, 1048576 + 65536)"
logged 1 "$bad"
# With several requests in flight nbdkit 1.32 aborts when nbdcopy gives up.
run 1 nbdcopy --requests 1 -C 1 "$uri" "$dir/copy"
client "" "$reads
copied = content('$dir/copy')
for at in range(0, len(copied), 65536):
    block = copied[at:at + 65536]
    assert not any(block) or block == truth[at:at + 65536], at"
stop

# What was good can be bad when it is read again, but not what is in the cache.
verify file "$dir/disk"
client "" "$reads
right(512, 0)
right(512, 65536 * 17)
with open('$dir/disk', 'r+b') as f: f.write(bytes(200000))
right(4096, 4096)
fails(65536, 0)
fails(65536, 65536)
with open('$dir/disk', 'r+b') as f: f.write(truth[:200000])
right(200000, 0)"
stop

# With "warn" it is served, and logged once.
verify file "$dir/disk" blkhash-verify-fail=warn
client "" "$reads
h.pread(len(truth), 0)
connect('').pread(len(truth), 0)"
logged 1 "$bad"
copy "$uri" "$dir/copy"
cmp "$dir/disk" "$dir/copy" || fail "not what is on the disk"
stop

# With "stop" all requests fail from then on, of all connections.
verify file "$dir/disk" blkhash-verify-fail=stop
client "" "$reads
other = connect('')
right(512, 0)
fails(512, 1048576)
fails(512, 0)
h, first = other, h
fails(512, 0)
try:
    h.block_status(512, 0, lambda *args: 0)
    assert False
except nbd.Error:
    pass
h = connect('')
fails(512, 1 << 20)"
logged 1 "$bad"
stop

# What must be zero is not read; with "read" it is, and extents are not served.
cp "$image" "$dir/disk"
flip "$dir/disk" 6000000
verify file "$dir/disk"
copies
stop
verify file "$dir/disk" blkhash-verify-zero=read
client "" "$reads
fails(len(truth), 0)
fails(512, 5963776)
right(5963776, 0)
def extents(context, offset, entries, err):
    assert entries == [len(truth), 0], entries
h.block_status(len(truth), 0, extents)"
stop
verify file "$image" blkhash-verify-zero=read
copies
stop

# A larger disk, such as a logical volume.
cp "$image" "$dir/disk"
printf 'more' >> "$dir/disk"
verify file "$dir/disk" blkhash-verify-size=truncate
copies
stop
hint='; blkhash-verify-size=truncate reads only these'
for size in exact truncate; do
  [ $size = exact ] || { truncate -s 8388607 "$dir/disk" && hint=; }
  verify file "$dir/disk" blkhash-verify-size=$size
  run 1 nbdinfo --size "$uri"
  logged 1 "blkhash-verify: the disk has $(stat -c %s "$dir/disk") bytes, \
$manifest 8388608$hint"
  stop
done

# The manifest changes while it is in use.  If another file gets its name,
# nothing happens; if it is changed in place all that needs it fails.
verify file "$image"
rm "$manifest"
prove "$dir/disk"
copies
stop
prove "$image"
cp "$manifest" "$dir/saved"
for change in ': > "$manifest"' 'flip "$manifest" 1000' 'echo >> "$manifest"' \
              'prove "$dir/disk"'; do
  cp "$dir/saved" "$manifest"
  tagged="blk-sha256/64k = $(reference "$image")"
  verify file "$image"
  eval "$change"
  client "" "$reads
fails(512, 0)
fails(len(truth), 0)"
  logged 1 "blkhash-verify: $manifest has changed since nbdkit started: blocks \
whose digests are in a changed part cannot be verified"
  cat "$dir/saved" > "$manifest"
  copies
  stop
done

# Only a flat sum covers the size.  With another construction a manifest of another
# size has the sum, but then nothing is served of the last block.
head -c 8388000 "$image" > "$dir/disk"
for kind in "" /linear /s3; do
  "$PYTHON" - "$image" "$kind" > "$manifest" << 'END'
import sys
import refmanifest
with open(sys.argv[1], "rb") as f:
    made = refmanifest.write(f.read(), linear=sys.argv[2] == "/linear",
                             streams=3 * (sys.argv[2] == "/s3"))
head = made[:512].replace(b"8388608", b"8388000")
sys.stdout.buffer.write(head + made[512:-56] +
                        refmanifest.end(head, 128, made[-40:-8]))
END
  tagged="blk-sha256/64k$kind = $(reference $(of_spec sha256/64k$kind) "$image")"
  if [ -z "$kind" ]; then
    [ "$SANITIZE" = no ] || continue
    refuses_to_start 'the sum is not that of the leaves' file "$dir/disk" \
      blkhash-verify-manifest="$manifest" blkhash-verify-sum="$tagged"
  else
    verify file "$dir/disk"
    client "" "$reads
right(8323072, 0)
fails(1, 8323072)
fails(1, 8387999)"
    stop
  fi
done

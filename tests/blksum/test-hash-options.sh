#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The sum depends on the block size and the construction, as in the reference,
# and never on the number of threads.

. "$(dirname "$0")/../functions.sh"

make_image "$dir/image"
from_pipe () { cat "$dir/image" | blksum "$@"; }
linear () { blksum -d sha256/64k/linear "$@"; }

# Small blocks of a small image: the reference is slow.
truncate -s 100001 "$dir/small"
write_data "$dir/small" 5000 40000
for size in 4 8 16 64 256; do
  prints_sum "$(reference -b $size "$dir/small")" \
             blksum -b $size "$dir/small"
done
for size in 512 4096 65536 131072 1048576 4194304 16777216; do
  sum=$(reference -b $size "$dir/image")
  prints_sum "$sum" blksum -b $size "$dir/image"
  prints_sum "$sum" from_pipe -b $size
  prints_sum "$sum" blksum -b $size -t 3 --no-extents "$dir/image"
done

# Each spec, as in a tag or without "blk-".
for streams in 1 2 4 32 64 1024; do
  sum=$(reference -s $streams "$dir/image")
  prints_sum "$sum" blksum -d sha256/64k/s$streams "$dir/image"
  prints_sum "$sum" from_pipe -d blk-sha256/64k/s$streams
  prints_sum "$(reference -s $streams -b 4096 "$dir/image")" \
             blksum -b 4k -d SHA256/4K/s$streams "$dir/image"
done

# The sum of 1 MiB of 0x55 with 64 streams was published.
head -c 1048576 /dev/zero | tr '\0' '\125' > "$dir/55"
prints_sum 2a6d5ed17da97865da0fd3ca9a792f3bfaf325940c44fd6a2f0a224a051eb6f0 \
           blksum -d sha256/64k/s64 "$dir/55"

for size in 4096 524288 4194304; do
  for digest in sha256 md5 blake2b512; do
    spec=$digest/$size
    sum=$(reference -d $digest -b $size "$dir/image")
    prints_sum "$sum" blksum -d $spec "$dir/image"
    prints_sum "$sum" blksum -d blk-$digest -b $size "$dir/image"
    prints_sum "$sum" from_pipe --digest=blk-$spec
    sum=$(reference --linear -d $digest -b $size "$dir/image")
    prints_sum "$sum" blksum -d $spec/linear -b $size "$dir/image"
    prints_sum "$sum" from_pipe -d blk-$spec/linear
    prints_sum "$sum" blksum -d $spec/linear -t 3 --no-extents "$dir/image"
  done
done
# The composite SHA-256 of S3, by its rule: the digests of the parts are hashed,
# and printed in Base64, with the number of parts.
cat > "$dir/s3.py" << 'END'
import base64, hashlib, sys
part = 8 << 20
data = open(sys.argv[1], "rb").read()
parts = [hashlib.sha256(data[i:i + part]).digest()
         for i in range(0, len(data), part)]
digest = hashlib.sha256(b"".join(parts)).digest()
print("%s-%d" % (base64.b64encode(digest).decode(), len(parts)))
END
cp "$dir/image" "$dir/object"
for size in 16777216 20000001; do
  truncate -s $size "$dir/object"
  write_data "$dir/object" $((size - 300000)) 300000
  run 0 blksum -d sha256/8m/linear --no-names "$dir/object"
  "$PYTHON" -c 'import base64, sys
print(base64.b64encode(bytes.fromhex(sys.argv[1])).decode() + "-" + sys.argv[2])' \
    "$(cat "$dir/stdout")" $(((size + 8388607) / 8388608)) > "$dir/composite"
  "$PYTHON" "$dir/s3.py" "$dir/object" | cmp - "$dir/composite" ||
    fail "not the composite checksum of S3"
done

# A tag is the spec of its sum.
for spec in sha256/64k md5/4k/s3 sha512/4m/linear; do
  run 0 blksum --tag --no-names -d $spec "$dir/image"
  grep -q "^blk-$spec = " "$dir/stdout" || fail "not the tag of $spec"
  cp "$dir/stdout" "$dir/tagged"
  run 0 blksum --tag --no-names -d "$(sed 's/ = .*//' "$dir/tagged")" \
        "$dir/image"
  cmp "$dir/tagged" "$dir/stdout" || fail "another sum by its tag"
done
# Another --block-size is an error, before or after a spec; see also
# test-digests.sh.
for construction in s64 linear; do
  spec=sha256/64k/$construction
  refuses "different block sizes" blksum -b 4k -d $spec "$dir/image"
  refuses "different block sizes" blksum -d $spec -b 4k "$dir/image"
done
refuses "--streams is now: -d sha256/64k/sN" \
        blksum --streams 64 "$dir/image"
refuses "--linear is now: -d sha256/64k/linear" \
        blksum --linear "$dir/image"

# The last block can be shorter, and there can be no block.
for size in 0 1 511 65535 65536 65537 1048577; do
  head -c $size "$dir/image" > "$dir/short"
  prints_sum "$(reference --linear "$dir/short")" linear "$dir/short"
  truncate -s $size "$dir/hole"
  prints_sum "$(reference --linear "$dir/hole")" linear "$dir/hole"
  rm "$dir/hole"
done
truncate -s 6g "$dir/sparse"
write_data "$dir/sparse" 5000000000 100000
prints_sum "$(reference --linear "$dir/sparse")" linear "$dir/sparse"

sum=$(reference "$dir/image")
streams_sum=$(reference -s 64 "$dir/image")
for threads in 1 2 3 7 16 64 128; do
  prints_sum "$sum" blksum -t $threads "$dir/image"
  prints_sum "$sum" from_pipe -t $threads
  prints_sum "$streams_sum" blksum -t $threads -d sha256/64k/s64 "$dir/image"
done

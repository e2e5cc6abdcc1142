#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Manifests: all programs write the same manifest for an image; damaged and
# crafted ones are refused; two manifests show where images differ; the reader
# in the manual reads them.

. "$(dirname "$0")/../functions.sh"

how=
is_instrumented || [ -n "$BLKHASH_NO_RSS" ] || how=--limit-memory
is_long || how="$how --short"
is_long || ! is_instrumented || how="$how --every 3"
rounds 5 40 10
driver=$(real_program "$abs_top_builddir/tests/manifest-driver")
BLKHASH_DRIVER_WRAPPER=$wrapper
export BLKHASH_DRIVER_WRAPPER
for tests in test-manifest test-manifest-diff; do
  "$PYTHON" "$abs_top_srcdir/tests/lib/$tests.py" --driver "$driver" --dir "$dir" \
            $how
done

# The reader in the manual prints the leaves of the reference, one a line.
sed -n '/^    import hashlib/,/^[^ ]/s/^    //p' \
    "$abs_top_srcdir/man/blkhash-manifest.pod" > "$dir/blkm.py"
[ "$(wc -l < "$dir/blkm.py")" -gt 10 ] || fail "no reader in the manual"

# reads OPTION... IMAGE: the reader prints what the reference prints.
reads () {
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$@" > "$dir/blkm"
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" read "$dir/blkm" |
    awk '$2 == "data" { for (i = 3; i <= NF; i++) print $1 + i - 3, $2, $i
                        next }
         { print }' > "$dir/expected"
  run 0 "$PYTHON" "$dir/blkm.py" < "$dir/blkm"
  diff -u "$dir/expected" "$dir/stdout" > "$dir/diff" ||
    fail "the reader in the manual: $(head "$dir/diff")"
}
make_image "$dir/image"
reads "$dir/image"
reads -b 4k -d sha512 "$dir/image"
reads -b 1m -d md5 "$dir/image"
for size in 0 1 511 65535 65537 1000001; do
  head -c $size "$dir/image" > "$dir/short"
  reads "$dir/short"
  reads -b 512 -d blake2b512 "$dir/short"
done
run 1 "$PYTHON" "$dir/blkm.py" < "$dir/image"
corpus=$abs_top_srcdir/tests/fuzz/manifest
run 0 "$PYTHON" "$dir/blkm.py" < "$corpus/flat.blkm"
run 1 "$PYTHON" "$dir/blkm.py" < "$corpus/zeros-as-data.blkm"

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the tests of nbdkit-blkhash-verify-filter, instead of
# filter-functions.sh.

filter_name=blkhash-verify
. "$(dirname "$0")/../filter-functions.sh"

result_header='# nbdkit-blkhash-verify-filter replaces this file'
image=$dir/image
make_image "$image"

# prove IMAGE: writes its manifest to $manifest, and sets $trusted, the
# parameters that trust it.  Both are the reference's.
prove () {
  "$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$1" > "$manifest"
  tagged="blk-sha256/64k = $(reference "$1")"
}

# verify ARGUMENT...: serve, with $manifest and $tagged.
verify () {
  serve "$@" blkhash-verify-manifest="$manifest" blkhash-verify-sum="$tagged"
}

# copies: the whole disk is right, with extents and without, by two programs.
copies () {
  for option in "$@" "" --no-extents; do
    copy $option "$uri" "$dir/copy"
    cmp "$image" "$dir/copy" || fail "the copy differs: nbdcopy $option"
  done
  if command -v qemu-img > /dev/null; then
    run 0 qemu-img compare -f raw -F raw "$image" "$uri"
  fi
}

# flip FILE OFFSET: changes a bit of a byte that is not zero.
flip () {
  "$PYTHON" - "$1" "$2" << 'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 1]))
END
}

# logged TIMES TEXT: the log has as many lines with this text.
logged () {
  found=$(grep -c -F -e "error: $2" "$log") || :
  [ "$found" = "$1" ] || fail "expected $1 times, found $found times: $2
$(grep error: "$log")"
}

# For "client": reads OFFSET, LEN, which must fail with EIO, or be right.
reads="import random
truth = content('$image')
def fails(n, at):
    try:
        h.pread(n, at)
    except nbd.Error as e:
        assert e.errnum == 5, e
    else:
        assert False, 'did not fail: %d bytes at %d' % (n, at)
def right(n, at):
    assert h.pread(n, at) == truth[at:at + n], (n, at)
"

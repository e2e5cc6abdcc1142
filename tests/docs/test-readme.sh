#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The commands of the section Usage in README.md print what its text says, in their
# order, and its programs in C and Python print the sum of blksum.  Hosts, devices and
# shared directories of the page are replaced by files and servers of this test.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/repair-functions.sh"
. "$abs_top_srcdir/tests/docs/guide-functions.sh"
requires_qemu
requires_no_sanitizer "nbdkit has no sanitizer"
requires_program curl jq nbdcopy nbdkit qemu-io xz
[ -f "$filter" ] || skip "built without nbdkit"
requires nbdkit curl --version
requires_direct

mkdir "$dir/page"
cd "$dir/page"
page=$abs_top_srcdir/README.md

# section NAME: prints the commands and programs of this section.
section () {
  sed -n "/^## $1\$/,/^## /s/^    //p" "$page"
}

# ---- What the page takes for granted ----

truncate -s 64m disk.raw
write_data disk.raw 3145728 10485760
sum=$(reference disk.raw)
xz -k -0 disk.raw
qemu-img convert -f raw -O qcow2 disk.raw disk.qcow2
cp disk.qcow2 copy.qcow2
cp disk.raw device
# All sums of this disk are equal; mon.blkm is of another day.
cp disk.raw monday
write_data monday 20971520 65536
run 0 blksum --manifest mon.blkm monday
list_changes 67108864 20971520 65536 > ranges.json
mkdir -p net/parts
for name in disk snap-7; do
  nbdkit -r -U "$PWD/$name.sock" -P "$PWD/$name.pid" file disk.raw
  wait_until test -s "$name.pid"
  kill_at_exit "$(cat "$name.pid")"
done
serve_web "$PWD"
http_proxy=$web
no_proxy=
export http_proxy no_proxy

# ---- Usage ----

# "expected" has what the page says, in comments and in its text.
tag="blk-sha256/64k"
cat > expected << END
$sum  disk.raw
$sum  disk.qcow2
$sum  $PWD/device
$sum  nbd+unix:///?socket=$PWD/disk.sock
$sum  -
copy.qcow2: OK
disk.qcow2: OK
copy.qcow2: OK
copy.raw: OK
65536 bytes at 4980736 differ
The images are identical.
copy.raw: OK (1 block repaired)
$tag (disk.raw) = $sum
$tag (manifest:disk.blkm) = $sum
$tag (disk.raw) = $sum
10485760
END
# The copies are damaged before the commands that find that, and all hosts hash their
# parts before the merge.
section Usage |
  sed "s|/dev/vg/disk|$PWD/device|
    s|/net/|$PWD/net/|
    s|nbd://server/\([a-z0-9-]*\)|nbd+unix:///?socket=$PWD/\1.sock|
    /^blksum --expect/i sum=\$(head -n 1 images.sums)
    /^blkhash compare disk.raw/i qemu-io -f qcow2 -c 'write -q -P 1 5000000 1' copy.qcow2
    /^blkhash repair/i printf x | dd of=copy.raw bs=1 seek=5000000 conv=notrunc status=none
    s|^blkhash parts --part 2/4\(.*\)|for i in 0 1 2 3; do blkhash parts --part \$i/4\1; done|" \
    > commands
timeout $limit sh ./commands > got 2> "$dir/stderr" || :
[ ! -s "$dir/stderr" ] || fail "unexpected message: $(cat commands)"
diff -u expected got || fail "see above: $(cat commands)"
cmp disk.raw copy.raw || fail "copy.raw was not repaired"

# ---- The library, and Python ----

section "The library" > programs
cat > prog.c << END
#include <stdio.h>
#include <blkhash.h>

int
main (void)
{
  const size_t len = 5, hole_len = 200000;
  const char *buf = "hello";
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned int md_len;
$(sed '/^h = /,$d' programs)
  for (unsigned int i = 0; i < md_len; i++)
    printf ("%02x", md[i]);
  return 0;
}
END
printf hello > hello
PYTHONPATH=$abs_top_srcdir/python:$PYTHONPATH run 0 "$PYTHON" -c \
  "import blkhash; buf = b'hello'
$(sed -n '/^h = /,$p' programs)"
[ "$(cat "$dir/stdout")" = "$tag $(reference hello)" ] || fail "another sum in Python"
truncate -s 200005 hello
# shellcheck disable=SC2086 # lists of flags
run 0 $CC $CFLAGS -I"$abs_top_srcdir/include" -o prog prog.c \
  -L"$abs_top_builddir/lib/.libs" -lblkhash
run 0 ./prog
[ "$(cat "$dir/stdout")" = "$(reference hello)" ] || fail "another sum in C"

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --progress=FD prints lines N/100 that grow, from 0 to 100 if there is a sum;
# a bar is only for terminals.

. "$(dirname "$0")/functions.sh"

make_image "$dir/image"
sum=$(reference "$dir/image")

# check_lines LAST: of $dir/lines
check_lines () {
  [ "$(head -n 1 "$dir/lines")" = 0/100 ] || fail "does not start at 0/100"
  [ "$(tail -n 1 "$dir/lines")" = "$1" ] || fail "does not end with $1"
  [ -z "$(grep -vx '[0-9]*/100' "$dir/lines")" ] || fail "not only N/100"
  sort -t/ -n -u "$dir/lines" | cmp - "$dir/lines" || fail "does not grow"
}

with_fd3 () { "$@" 3> "$dir/lines"; }
prints_sum "$sum" with_fd3 blksum --progress=3 "$dir/image"
check_lines 100/100
[ "$(wc -l < "$dir/lines")" -gt 3 ] || fail "nothing in between"
prints_sum "$sum" with_fd3 blksum --progress=3 -t 1 --no-extents "$dir/image"
check_lines 100/100

# An empty image has its 100, a source that fails has not.
: > "$dir/empty"
run 0 with_fd3 blksum --progress=3 "$dir/empty"
[ "$(tail -n 1 "$dir/lines")" = 100/100 ] || fail "no 100/100 of nothing"
run 2 with_fd3 blksum --progress=3 "$dir/missing"
if grep -q 100/100 "$dir/lines"; then
  fail "100/100 of nothing"
fi

# No terminal, no bar.  A descriptor that cannot be written does no harm, but
# one that is not open would be the number of the next file.
prints_sum "$sum" blksum -p "$dir/image"
refuses "descriptor 9 is not open" blksum --progress=9 "$dir/image"
to_full () { "$@" 3> /dev/full; }
prints_sum "$sum" to_full blksum --progress=3 "$dir/image"

# A terminal has one, and it is wiped off.
"$PYTHON" - "$dir/image" "$sum" << 'END' || fail "the bar"
import os, pty, subprocess, sys
ours, theirs = pty.openpty()
process = subprocess.Popen(["blksum", "-p", sys.argv[1]], stderr=theirs,
                           stdout=subprocess.PIPE)
os.close(theirs)
text = b""
try:
    while True:
        text += os.read(ours, 65536)
except OSError:
    pass
assert process.communicate()[0].split()[0].decode() == sys.argv[2]
assert process.returncode == 0
assert text.startswith(b"\r["), text
assert text.endswith(b"\r\033[K"), text
assert b"0%" in text and b"#" in text, text
END

requires_nbdkit file eval
start_nbdkit file "$dir/image"
prints_sum "$sum" with_fd3 blksum --progress=3 "$uri"
check_lines 100/100
start_nbdkit eval get_size='echo 8m' \
  pread='[ $4 -lt 4194304 ] && head -c $3 /dev/zero ||
         { echo EIO no good >&2; exit 1; }'
run 2 with_fd3 blksum --progress=3 "$uri"
[ "$(head -n 1 "$dir/lines")" = 0/100 ] || fail "does not start at 0/100"
if grep -q 100/100 "$dir/lines"; then
  fail "100/100 without a sum"
fi

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blkhash-update=true: nbdkit is killed at each of its system calls that touch
# files, in the short form at a few of them.  After that there is either no
# manifest or that of the disk, never the old one of a changed disk: see
# filter-update-sigkill.py, which reads BLKHASH_SEED and BLKHASH_ROUNDS.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer
[ -z "$wrapper" ] || skip "strace and valgrind do not go together"
requires_program strace
requires strace -o "$dir/trace" true

rounds 30 100000 0
mkdir "$dir/runs"
make_image "$dir/runs/disk"
truncate -s $((129 * 65536 + 1000)) "$dir/runs/disk"
status=0
"$PYTHON" "$abs_top_srcdir/tests/campaign/filter-update-sigkill.py" \
  --filter "$filter" --dir "$dir/runs" > "$dir/stdout" || status=$?
cat "$dir/stdout"
[ $status != 77 ] || skip "strace cannot attach here"
[ $status = 0 ] || fail "see above"

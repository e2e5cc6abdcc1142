#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A signal ends blksum while it writes a manifest, and nothing is left of it,
# also where a file cannot be without a name: without /proc that is everywhere.

. "$(dirname "$0")/functions.sh"
hide_proc

truncate -s 400m "$dir/image"
write_data "$dir/image" 0 30000000
mkdir "$dir/new"
cd "$dir/new"

# ends_by SIGNAL NUMBER
ends_by () {
  run $((128 + $2)) midway "ls > $dir/files; kill -$1 \$pid" -t 1 \
    --manifest a "$dir/image"
  [ ! -s "$dir/stdout" ] || fail "a sum"
  grep -q '^a[.]' "$dir/files" || fail "it had no name: $(cat "$dir/files")"
  [ -z "$(ls)" ] || fail "left behind: $(ls)"
}
ends_by HUP 1
ends_by INT 2
ends_by TERM 15

# On a file system of several hosts, or containers, another blksum with the same
# number may be writing: its file is not touched.
run 0 sh -c 'echo theirs > a.$$.new; exec blksum --manifest a "$1"' sh "$dir/image"
[ "$(cat a.*.new)" = theirs ] || fail "the file of another blksum is gone"
rm a a.*.new

# What is not complete does not take the place of what was there.
blksum --manifest a "$dir/image" > "$dir/sum"
[ "$(ls)" = a ] || fail "not only the manifest: $(ls)"
cp a "$dir/before"
run 143 midway 'kill -TERM $pid' -t 1 --manifest a "$dir/image"
cmp a "$dir/before" || fail "another manifest"
[ "$(ls)" = a ] || fail "left behind: $(ls)"

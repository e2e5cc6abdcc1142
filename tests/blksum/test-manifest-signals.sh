#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# When a signal ends blksum while it writes a manifest, no file is left, even on
# file systems without unnamed files.  Without /proc blksum never uses an
# unnamed file.

. "$(dirname "$0")/../functions.sh"
requires_program strace
[ -z "$wrapper" ] || skip "no strace in valgrind"
requires_no_sanitizer "no strace with sanitizers"

truncate -s 400m "$dir/image"
write_data "$dir/image" 0 30000000
mkdir "$dir/new"
cd "$dir/new"

# A signal arrives while the names of two manifests are exchanged: the old one is
# not left at the other name.
blksum -b 4k --manifest a "$dir/image" > "$dir/sum"
cp a "$dir/before"
run 143 strace -f -qq -o "$dir/trace" -e trace=renameat2 \
  -e inject=renameat2:signal=TERM blksum --manifest a "$dir/image"
grep -q 'RENAME_EXCHANGE) = 0' "$dir/trace" || fail "no names were exchanged"
[ "$(ls)" = a ] || fail "left behind: $(ls)"
! cmp -s a "$dir/before" || fail "not replaced"
run 0 blksum manifest:a
rm a

hide_proc

# ends_by SIGNAL NUMBER: SIGNAL ends blksum, and no file is left.
ends_by () {
  run $((128 + $2)) midway "ls > $dir/files; kill -$1 \$pid" -t 1 \
    --manifest a "$dir/image"
  [ ! -s "$dir/stdout" ] || fail "printed a sum"
  grep -q '^a[.]' "$dir/files" ||
    fail "the file had no name: $(cat "$dir/files")"
  [ -z "$(ls)" ] || fail "left behind: $(ls)"
}
ends_by HUP 1
ends_by INT 2
ends_by TERM 15

# The same of blkhash export.
blksum -b 4k --manifest "$dir/m" "$dir/image" > "$dir/sum"
run 143 midway "ls > $dir/files; kill -TERM \$pid" \
  blkhash export --to verity "$dir/m" a
[ ! -s "$dir/stdout" ] || fail "printed a root hash"
grep -q '^a[.]' "$dir/files" || fail "the file had no name: $(cat "$dir/files")"
[ -z "$(ls)" ] || fail "left behind: $(ls)"

# On a file system that hosts or containers share, another blksum with the same
# process id may be writing: its file is not changed.
run 0 sh -c 'echo theirs > a.$$.new; exec blksum --manifest a "$1"' sh "$dir/image"
[ "$(cat a.*.new)" = theirs ] || fail "the file of another blksum was changed"
rm a a.*.new

# A manifest that is not complete does not replace an existing one.
blksum --manifest a "$dir/image" > "$dir/sum"
[ "$(ls)" = a ] || fail "not only the manifest: $(ls)"
cp a "$dir/before"
run 143 midway 'kill -TERM $pid' -t 1 --manifest a "$dir/image"
cmp a "$dir/before" || fail "the manifest differs"
[ "$(ls)" = a ] || fail "left behind: $(ls)"

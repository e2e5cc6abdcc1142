#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The manifest is written to the file that the parameter names; paths that
# cannot work are errors at the start.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"

# A relative path, in a server that runs in the background.
(cd "$dir" && nbdkit -U "$dir/daemon.sock" -P "$dir/daemon.pid" \
  --filter="$filter" file image blkhash-manifest=relative)
wait_until test -s "$dir/daemon.pid"
kill_at_exit "$(cat "$dir/daemon.pid")"
copy "nbd+unix:///?socket=$dir/daemon.sock" null:
manifest=$dir/relative
wait_until test -s "$manifest"
manifest_is "$dir/image"
kill "$(cat "$dir/daemon.pid")"

# The manifest is emptied at the start, through a symbolic link.  Then only its
# owner can read it, whatever its mode was.
blksum --manifest "$dir/real" "$dir/image"
chmod 664 "$dir/real"
ln -s real "$dir/link"
serve file "$dir/image" blkhash-file="$sums" blkhash-manifest="$dir/link"
[ ! -s "$dir/real" ] || fail "not emptied"
copy "$uri" null:
wait_for_sum "$dir/image"
manifest=$dir/real
manifest_is "$dir/image"
[ -L "$dir/link" ] || fail "the link is gone"
client "" 'h.pwrite(b"x", 0)
h.pread(1, 0)'
wait_for_sum "$dir/image"
manifest_is "$dir/image"
stop
[ "$(ls "$dir"/real*)" = "$dir/real" ] || fail "left behind: $(ls "$dir")"
manifest=$dir/manifest

# Paths that cannot work are errors at the start.
refuses_to_start 'No such file' null blkhash-manifest="$dir/none/manifest"
refuses_to_start 'blkhash-manifest: .*regular' null blkhash-manifest=/dev/null
refuses_to_start 'blkhash-manifest: .*directory' null blkhash-manifest="$dir"
refuses_to_start '' null blkhash-manifest=
mkfifo "$dir/fifo"
run 1 timeout $limit nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-manifest="$dir/fifo" --run true
for same in "$sums" "$dir/symbolic" "$dir/hard"; do
  rm -f "$dir/symbolic" "$dir/hard"
  : > "$sums"
  ln -s sums "$dir/symbolic"
  ln "$sums" "$dir/hard"
  refuses_to_start 'are the same file' null blkhash-file="$sums" \
                   blkhash-manifest="$same"
done

# So is a manifest for several disks.
mkdir "$dir/disks"
cp "$dir/image" "$dir/disks"
refuses_to_start 'blkhash-manifest describes one disk' file dir="$dir/disks" \
                 blkhash-distinct-exports=true blkhash-manifest="$manifest"
run 0 nbdkit -U - --filter="$filter" null 1M blkhash-distinct-exports=false \
    blkhash-manifest="$manifest" --run 'nbdcopy "$uri" null:'
[ -s "$manifest" ] || fail "no manifest"

# A directory in which the file cannot be replaced, for any user of nbdkit.
mkdir "$dir/closed"
touch "$dir/closed/manifest"
chmod 666 "$dir/closed/manifest"
chmod 555 "$dir/closed"
if [ "$(id -u)" = 0 ]; then
  requires_program setpriv
  chmod 755 "$dir"
  as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
  cp "$filter" "$dir/nbdkit-blkhash-filter.so"
  filter=$dir/nbdkit-blkhash-filter.so
  mkdir "$dir/home"
  chmod 777 "$dir/home"
  export TMPDIR="$dir/home"
fi
requires $as_user nbdkit -U - null --run true
run 1 $as_user nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-manifest="$dir/closed/manifest" --run true
grep -q 'blkhash-manifest: cannot create .*: Permission denied' "$dir/stderr" ||
  fail "no error that names the manifest"
run 1 $as_user nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-manifest="$dir/closed/new" --run true
grep -q 'blkhash-manifest: .*Permission denied' "$dir/stderr" ||
  fail "no error that names the manifest"

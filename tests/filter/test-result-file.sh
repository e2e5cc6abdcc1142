#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The result is written to the file, or to stderr without one; paths that cannot
# work are errors at the start.  A start that fails leaves no earlier result.

. "$(dirname "$0")/../filter-functions.sh"
requires_no_sanitizer

make_image "$dir/image"
wanted=$(reference "$dir/image")

# A relative path, in a server that runs in the background.
(cd "$dir" && nbdkit -U "$dir/daemon.sock" -P "$dir/daemon.pid" \
  --filter="$filter" file image blkhash-file=relative)
wait_until test -s "$dir/daemon.pid"
kill_at_exit "$(cat "$dir/daemon.pid")"
copy "nbd+unix:///?socket=$dir/daemon.sock" null:
sums=$dir/relative
wait_for_sum "$dir/image"
kill "$(cat "$dir/daemon.pid")"
sums=$dir/sums

# The result file is emptied at the start, through a symbolic link, and keeps
# its mode.
echo "$wanted  -" > "$dir/real"
chmod 640 "$dir/real"
ln -s real "$dir/link"
serve file "$dir/image" blkhash-file="$dir/link"
[ ! -s "$dir/real" ] || fail "not emptied"
copy "$uri" null:
[ "$(without_header "$dir/real")" = "$(sum_line "$wanted")" ] ||
  fail "not in the file: $(cat "$dir/real")"
[ -L "$dir/link" ] || fail "the link is gone"
[ "$(stat -c %a "$dir/real")" = 640 ] || fail "mode $(stat -c %a "$dir/real")"
stop
[ "$(ls "$dir"/real* | wc -l)" = 1 ] || fail "left behind: $(ls "$dir")"

# Without a result file, the line goes to stderr.
run 0 nbdkit -U - --filter="$filter" file "$dir/image" \
    --run 'nbdcopy $uri null:'
[ "$(cat "$dir/stderr")" = "$(sum_line "$wanted")" ] || fail "not on stderr"

# With --run, the result is written before nbdkit ends.
run 0 nbdkit -U - --filter="$filter" file "$dir/image" blkhash-file="$sums" \
    blkhash-name="$dir/image" --run 'nbdcopy $uri null:'
has_line "$(sum_line "$wanted" "$dir/image")" || fail "$(cat "$sums")"

# Paths that cannot work are errors at the start.
refuses_to_start 'No such file' null blkhash-file="$dir/none/sums"
refuses_to_start 'regular' null blkhash-file=/dev/null
refuses_to_start 'directory' null blkhash-file="$dir"
refuses_to_start '' null blkhash-file=
mkfifo "$dir/fifo"
run 1 timeout $limit nbdkit -U "$dir/refused.sock" --filter="$filter" null \
    blkhash-file="$dir/fifo" --run true

# ---- An earlier result ----

# earlier: makes the files of an earlier server.
earlier () {
  rm -f "$sums"* "$manifest"*
  echo "$wanted  -" > "$sums"
  blksum --manifest "$manifest" "$dir/image" > "$dir/stdout"
}

# withdrawn REGEX ARGUMENT...: nbdkit does not start, and empties the earlier
# result; in $kept is the manifest that is not emptied.
kept=/dev/null
withdrawn () {
  earlier
  refuses_to_start "$@" blkhash-file="$sums" blkhash-manifest="$manifest"
  [ -e "$sums" ] && [ ! -s "$sums" ] || fail "the old sum is there"
  cmp "$manifest" $kept || fail "the old manifest is there"
}
only_results () {
  [ "$(ls "$sums"* "$manifest"*)" = "$manifest
$sums" ] || fail "left behind: $(ls "$sums"* "$manifest"*)"
}

# The plugin refuses a parameter, or misses one; a filter below does that.
withdrawn 'none: No such file' file "$dir/none"
only_results
withdrawn 'you must supply' file
only_results
withdrawn 'unknown parameter' file "$dir/image" what=ever
only_results
withdrawn 'rdelay' --filter=delay file "$dir/image" rdelay=long
only_results
# Another server has the socket, and other results.
: > "$dir/refused.sock"
withdrawn 'already in use\|No such file' file "$dir/image"
rm "$dir/refused.sock"
# An update needs the manifest, but the sum is withdrawn.
blksum --manifest "$dir/kept" "$dir/image" > "$dir/stdout"
kept=$dir/kept
withdrawn 'none: No such file' file "$dir/none" blkhash-update=true
only_results

# Nothing is changed by what is no start.
earlier
for what in --help --version --dump-plugin; do
  run 0 nbdkit --filter="$filter" file "$dir/image" blkhash-file="$sums" \
      blkhash-manifest="$manifest" $what
done
has_line "$wanted  -" || fail "withdrawn by $what"
cmp "$manifest" "$kept"
only_results

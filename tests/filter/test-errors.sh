#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# When the plugin fails, the transfer fails just as it does without the filter,
# there is no wrong sum, and a copy that succeeds later has the right one.

. "$(dirname "$0")/../filter-functions.sh"

make_image "$dir/image"
truncate -s 8m "$dir/disk"

# same_failure COMMAND: fails with the same exit status and message with and
# without our filter.
same_failure () {
  status=0
  "$@" > "$dir/stdout" 2> "$dir/stderr" || status=$?
  [ $status != 0 ] || fail "no failure: $*"
  sed "s/offset [0-9]*/offset/; s|$socket|SOCKET|g" "$dir/stderr" > "$dir/with"
  status_with=$status
  status=0
  plain_uri=nbd+unix:///?socket=$plain
  eval "set -- $(printf '"%s" ' "$@" | sed "s|$socket|$plain|g")"
  "$@" > "$dir/stdout" 2> "$dir/stderr" || status=$?
  sed "s/offset [0-9]*/offset/; s|$plain|SOCKET|g" "$dir/stderr" > "$dir/without"
  [ $status = $status_with ] || fail "the exit status differs"
  diff "$dir/without" "$dir/with" || fail "the error differs"
}

for error in EIO ENOSPC EPERM; do
  touch "$dir/trigger"
  nbdkit -U "$dir/plain.sock" -P "$dir/plain.pid" --filter=error \
         file "$dir/disk" error=$error error-rate=100% error-file="$dir/trigger"
  plain=$dir/plain.sock
  wait_until test -s "$dir/plain.pid"
  kill_at_exit "$(cat "$dir/plain.pid")"
  serve --filter=error file "$dir/disk" error=$error error-rate=100% \
        error-file="$dir/trigger" blkhash-file="$sums"

  same_failure nbdcopy --requests 1 -C 1 --no-extents "$uri" null:
  no_sum
  same_failure nbdcopy --requests 1 -C 1 "$dir/image" "$uri"
  no_sum
  wait_for_line '# unknown -: the last request failed'

  rm "$dir/trigger"
  copy "$uri" "$dir/copy"
  wait_for_sum "$dir/disk"
  touch "$dir/trigger"
  same_failure nbdcopy --requests 1 -C 1 "$dir/image" "$uri"
  no_sum
  rm "$dir/trigger"
  copy "$dir/image" "$uri"
  wait_for_sum "$dir/image"
  stop
  kill "$(cat "$dir/plain.pid")"
  rm -f "$dir/plain.sock" "$dir/plain.pid"
  truncate -s 0 "$dir/disk"
  truncate -s 8m "$dir/disk"
done

# Shell plugins do not run with a sanitizer.
[ "$SANITIZE" = no ] || exit 0

# One of many requests fails: a write that did change the disk.
export disk="$dir/disk"
serve eval get_size='stat -c %s $disk' \
      pread='dd if=$disk skip=$4 count=$3 iflag=skip_bytes,count_bytes status=none' \
      pwrite='dd of=$disk seek=$4 oflag=seek_bytes conv=notrunc status=none
              [ $4 != 65536 ] || { echo EIO Bad >&2; exit 1; }' \
      blkhash-file="$sums"
client "" 'h.pwrite(b"a" * 65536, 0)
try:
    h.pwrite(b"b" * 65536, 65536)
    sys.exit(1)
except nbd.Error as e:
    assert e.errnum == 5, e
h.pwrite(b"c" * 65536, 131072)'
wait_for_sum "$dir/disk"
stop

# The missing blocks cannot be read.
serve --filter=error file "$dir/disk" error-pread-rate=100% blkhash-file="$sums"
client "" 'h.pwrite(b"x", 0)'
wait_for_match '^# unknown -: [0-9]* bytes at [0-9]* cannot be read: Input/output error$'
stop
no_sum

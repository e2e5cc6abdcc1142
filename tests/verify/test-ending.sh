#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# As filter/test-ending.sh: the verify filter keeps the thread of a connection
# that begins after the server has ended from using freed memory, and from using
# the plugin during the plugin's .cleanup.

filter_name=blkhash-verify
. "$(dirname "$0")/../ending-functions.sh"

json=$dir/status
"$PYTHON" "$abs_top_srcdir/tests/refmanifest.py" write "$dir/disk" > "$manifest"
cp "$manifest" "$dir/x.blkm"
export_name=x

# last CODE: ends a server, as "ending", with one manifest and with several.
last () {
  for with in "manifest=$manifest blkhash-verify-export=x" manifest-dir="$dir"; do
    serve "$snapshot" file="$dir/disk" hold="$dir/hold" \
          blkhash-verify-$with blkhash-verify-sum=none \
          blkhash-verify-status="$json"
    ending "a.pread(512, 0)" "$1"
    grep -q '"finished": true' "$json" || fail "$(cat "$json")"
    grep -q '"verified-bytes": 65536' "$json" || fail "$(cat "$json")"
  done
}

last "$thread_after_cleanup"
last "$opening_at_cleanup
cleanup.release()"

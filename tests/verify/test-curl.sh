#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A sparse image on a web server is fetched by its data only, because the
# manifest says what is zero; and a mirror that has another one is found out.

. "$(dirname "$0")/../verify-functions.sh"
requires_nbdkit curl

rm "$image"
truncate -s 256m "$image"
write_data "$image" 5000000 3000000
write_data "$image" 200000000 1000000
blksum --manifest "$manifest" --tag "$image" > "$dir/sum"
tagged=$(cat "$dir/sum")

serve_web "$dir" "$dir/fetched"

# The plugin fetches a byte more for some connections.
verify curl "$web/$(basename "$image")"
copy "$uri" "$dir/copy"
cmp "$image" "$dir/copy" || fail "the copy differs"
fetched=$("$PYTHON" -c 'import sys; print(sum(map(int, sys.stdin)))' \
          < "$dir/fetched")
blocks=$("$PYTHON" -c "
with open('$image', 'rb') as f:
    print(sum(any(b) for b in iter(lambda: f.read(65536), b'')))")
[ "$fetched" -le $((blocks * 65536 + 1000)) ] ||
  fail "fetched $fetched bytes of $blocks blocks"
stop

flip "$image" 6000000
verify curl "$web/$(basename "$image")"
run 1 nbdcopy --requests 1 -C 1 "$uri" "$dir/copy"
logged 1 "blkhash-verify: 65536 bytes at 5963776 differ from $manifest"
stop

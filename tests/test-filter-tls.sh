#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# TLS, and the filter that shows another disk to who comes without.

. "$(dirname "$0")/filter-functions.sh"
nbdkit --dump-config | grep -q '^tls=yes' || skip "nbdkit without TLS"

make_image "$dir/image"
printf 'alice:%s\n' 0123456789abcdef0123456789abcdef > "$dir/psk"
secure () {
  echo "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk"
}

above="--tls=require --tls-psk=$dir/psk"
serve file "$dir/image" blkhash-file="$sums"
requires nbdinfo --size "$(secure)"
copy "$(secure)" "$dir/copy"
sum_comes "$dir/image"
stop

# Above ours: clients without TLS never come to us.
above="--tls=on --tls-psk=$dir/psk --filter=tls-fallback"
serve file "$dir/image" blkhash-file="$sums"
copy "$(secure)" "$dir/copy"
copy "$uri" "$dir/message"
sum_comes "$dir/image"
stop
sum_comes "$dir/image"

# Below ours there are two disks of one name.
above="--tls=on --tls-psk=$dir/psk"
serve --filter=tls-fallback file "$dir/image" blkhash-file="$sums"
copy "$uri" "$dir/message"
sum_comes "$dir/message"
copy "$(secure)" "$dir/copy"
sum_comes "$dir/image"
stop

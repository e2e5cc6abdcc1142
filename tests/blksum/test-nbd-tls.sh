#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# blksum reads NBD over TLS, with a pre-shared key.

. "$(dirname "$0")/../functions.sh"
requires_nbdkit file
nbdkit --dump-config | grep -q '^tls=yes' || skip "nbdkit without TLS"
requires_program nbdinfo

make_image "$dir/image"
printf 'alice:%s\n' 0123456789abcdef0123456789abcdef > "$dir/psk"
start_nbdkit --tls=require --tls-psk="$dir/psk" file "$dir/image"
tls_uri="nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/psk"
requires nbdinfo --size "$tls_uri"

prints_sum "$(reference "$dir/image")" blksum "$tls_uri"

# Without the key the connection is refused.
refuses "socket=$socket: " blksum "$uri"
printf 'alice:%s\n' ffffffffffffffffffffffffffffffff > "$dir/wrong"
refuses ": " blksum "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/wrong"
refuses ": " blksum "nbds+unix://alice@/?socket=$socket&tls-psk-file=$dir/none"

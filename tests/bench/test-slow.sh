#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs blkhash-bench with 100 GiB of data and a hole of 100 TiB, on request:
# this takes some minutes.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "much too slow with valgrind"

# prints_checksum SUM OPTION...
prints_checksum () {
  wanted=$1
  shift
  run 0 "$(real_program ./bench/blkhash-bench)" "$@"
  grep -q "\"checksum\": \"$wanted\"" "$dir/stdout" ||
    fail "expected $wanted"
}

for api in "" --aio; do
  prints_checksum \
    691f0b9dfbcb944b91ad23bac4ea17db82f336b0aa47cec3b6890ee4a39375b6 \
    --input-size 100g $api
done
prints_checksum \
  659cfc90e33af01329e527444482f6b2afd01c827dc06724014b03a1e6583d39 \
  -i hole --input-size 100t

#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tests the known answers for 100 GiB of 0x55 and for a hole of 100 TiB, on
# request: this takes some minutes.

. "$(dirname "$0")/../functions.sh"
[ -z "$wrapper" ] || skip "much too slow with valgrind"

$(real_program ./test-api) slow

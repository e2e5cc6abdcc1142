#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Extents that a disconnected connection queries are not used for blocks that a
# new connection changes at the same time: see last-read.sh.

after=extents
. "$(dirname "$0")/../hold-functions.sh"
requires_no_sanitizer
. "$(dirname "$0")/last-read.sh"

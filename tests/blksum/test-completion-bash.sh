#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# bash completes all options of blksum that are in the table, and their
# arguments.

. "$(dirname "$0")/../functions.sh"
. "$abs_top_srcdir/tests/blksum/completion-functions.sh"
complete_in bash

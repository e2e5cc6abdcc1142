#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# zsh completes the options of blksum, every one of the table, and what comes
# after them.

. "$(dirname "$0")/functions.sh"
. "$abs_top_srcdir/tests/completion-functions.sh"
complete_in zsh

# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# fish searches a file with the name of the command.

source (status dirname)/blksum.fish

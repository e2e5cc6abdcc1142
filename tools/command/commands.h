/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum, and the commands of blkhash, each in a file cmd-NAME.c.
 */

#ifndef BLKSUM_COMMANDS_H
#define BLKSUM_COMMANDS_H

struct command;

extern const struct command cmd_blksum, cmd_compare, cmd_export, cmd_merge,
  cmd_parts, cmd_repair, cmd_update;

#endif /* BLKSUM_COMMANDS_H */

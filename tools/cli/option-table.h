/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of blksum: the table of all that there are.
 */

#ifndef BLKSUM_OPTION_TABLE_H
#define BLKSUM_OPTION_TABLE_H

struct options;

/* Parse the command line; what needs no operand (--help) is done here and
 * exits, and so do errors, with status 2.
 */
void options_parse (struct options *options, int argc, char *argv[]);
void options_free (struct options *options);

#endif /* BLKSUM_OPTION_TABLE_H */

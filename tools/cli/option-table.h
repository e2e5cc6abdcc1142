/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of blksum: the table of all options.
 */

#ifndef BLKSUM_OPTION_TABLE_H
#define BLKSUM_OPTION_TABLE_H

struct options;

/* Parse the command line.  An option that needs no operand, such as --help, is
 * executed here, and ends blksum.  An error ends it with status 2.
 */
void options_parse (struct options *options, int argc, char *argv[]);
void options_free (struct options *options);

#endif /* BLKSUM_OPTION_TABLE_H */

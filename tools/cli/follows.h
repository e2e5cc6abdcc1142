/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print what follows an image on its disk, with --size.
 */

#ifndef BLKSUM_FOLLOWS_H
#define BLKSUM_FOLLOWS_H

struct follows;

/* Print a line "NAME: what follows ..." on stdout, unless nothing does.  0, or
 * an errno value if it could not be written.
 */
int follows_print (const char *name, const struct follows *follows);

/* The same as an object of JSON, or null if it was not looked at. */
void follows_print_json (const struct follows *follows);

#endif /* BLKSUM_FOLLOWS_H */

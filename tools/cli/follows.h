/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What follows an image on its disk, with --size, and how that is printed.
 */

#ifndef BLKSUM_FOLLOWS_H
#define BLKSUM_FOLLOWS_H

#include <stdint.h>

enum follows_what {
  FOLLOWS_NOTHING,
  FOLLOWS_UNREAD,               /* it was not looked at */
  FOLLOWS_ZERO,
  FOLLOWS_DATA,
  FOLLOWS_BLOCK,                /* data somewhere in a block, by a manifest */
};

struct follows {
  enum follows_what what;
  uint64_t len;                 /* bytes; but of FOLLOWS_UNREAD */
  uint64_t offset;              /* on the disk, bytes: of the first that is not
                                 * zero, or of its block */
};

/* Print a line "NAME: what follows ..." on stdout, unless nothing does.  0, or
 * an errno value if it could not be written.
 */
int follows_print (const char *name, const struct follows *follows);

/* The same as an object of JSON, or null if it was not looked at. */
void follows_print_json (const struct follows *follows);

#endif /* BLKSUM_FOLLOWS_H */

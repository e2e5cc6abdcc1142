/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is an image what it was, in another run?
 *
 * The state of each file of it tells: device, inode, size, and the times of the
 * last change.  A change within the same tick of the clock as the one before
 * would not be seen, so times are only trusted when they are some seconds old.
 */

#ifndef BLKSUM_IDENTITY_H
#define BLKSUM_IDENTITY_H

#include <stdbool.h>
#include <time.h>

struct error;
struct source;
struct source_options;

#define IDENTITY_AGE 2          /* s: times that are older are trusted */

struct identity {
  char *text;                   /* lines: how it was opened, and a line for each
                                 * file; equal if nothing changed */
  bool told;                    /* it tells of all that is read */
  struct timespec youngest;     /* the last change of all files */
};

/* Of SOURCE, which was opened as OPERAND.  0, or -1 with the reason. */
int identity_init (struct identity *identity,
                   const struct source_options *options, const char *operand,
                   const struct source *source, struct error *error);
void identity_destroy (struct identity *identity);

/* How long to wait, in ns, until the times can be trusted; 0: they can; or -1:
 * they are in the future, so that waiting does not help.
 */
long long identity_wait (const struct identity *identity);

/* Two texts that differ: are they of the same files, which changed? */
bool identity_is_of_same_files (const char *a, const char *b);

#endif /* BLKSUM_IDENTITY_H */

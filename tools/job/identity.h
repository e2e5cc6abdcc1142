/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Detect that an image was modified between two runs.
 *
 * For each file of the image, the device, inode, size, mtime and ctime are
 * compared.  Two modifications within the same tick of the clock have the same
 * time, so times are trusted only when they are some seconds old.
 *
 * Changes of a block device or of an image on a server cannot be detected.  Of
 * a block device only the device number is compared.
 */

#ifndef BLKSUM_IDENTITY_H
#define BLKSUM_IDENTITY_H

#include <stdbool.h>
#include <time.h>

struct error;
struct source;

struct identity {
  char *text;                   /* lines: the format; each file; and one more
                                 * if changes cannot be detected.  Texts are
                                 * equal if nothing changed */
  bool detects_changes;         /* each modification changes the text */
  struct timespec last_modified; /* the last modification of any file */
};

/* Set IDENTITY to the identity of SOURCE.  Returns 0, or -1 with the reason;
 * then IDENTITY need not be destroyed.
 */
int identity_init (struct identity *identity, const struct source *source,
                   struct error *error);
void identity_destroy (struct identity *identity);

/* Returns the time until the file times can be trusted, in ns; 0 if they can be
 * trusted now; or -1 if they are in the future, so that waiting does not help.
 */
long long identity_wait (const struct identity *identity);

/* Returns true if the texts A and B are of the same files.  If so, and A and B
 * are not equal, the files were modified in between.
 */
bool identity_is_of_same_files (const char *a, const char *b);

#endif /* BLKSUM_IDENTITY_H */

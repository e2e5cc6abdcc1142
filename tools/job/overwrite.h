/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a manifest may replace an existing file.
 *
 * If the user forgets an operand, as in "--manifest disk.raw", the file is an
 * image.  An image can begin like a manifest, because the guest writes it.
 */

#ifndef BLKSUM_OVERWRITE_H
#define BLKSUM_OVERWRITE_H

#include <stdbool.h>

struct error;
struct source;

enum target_name {
  TARGET_OF_USER,               /* the file can be anything */
  TARGET_OF_BLKSUM,             /* the name, or a file beside it, is one that
                                 * only blksum makes */
};

/* Check that the file FD may be replaced.  It must be a regular file, and not
 * a file of SOURCE, which can be NULL.  It must be empty, or contain only
 * records of a manifest.  With TARGET_OF_BLKSUM it need only begin like a
 * manifest, because a crash or an interrupted copy can leave a partial one.  FD
 * is open for reading, and NAME is for messages.  0, or -1 with the reason.
 */
int target_check (int fd, const char *name, enum target_name whose,
                  const struct source *source, struct error *error);

/* The same for the file at PATH, which need not exist. */
int target_check_path (const char *path, enum target_name whose,
                       const struct source *source, struct error *error);

#endif /* BLKSUM_OVERWRITE_H */

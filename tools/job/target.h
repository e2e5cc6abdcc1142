/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The file that a manifest is written to: may what is there be replaced?
 *
 * With an operand forgotten, as in "--manifest disk.raw", it is an image, and
 * that can begin as a manifest does: its guest wrote it.
 */

#ifndef BLKSUM_TARGET_H
#define BLKSUM_TARGET_H

#include <stdbool.h>

struct error;
struct source;

enum target_name {
  TARGET_OF_USER,               /* it can be anything */
  TARGET_OF_BLKSUM,             /* nothing else has such a name, or has such
                                 * files beside it */
};

/* Only a regular file is replaced that is not a part of SOURCE, unless that is
 * NULL, and is empty, or nothing but records of a manifest; one of which the
 * name tells that it is ours needs only begin so, as a crash or a copy that was
 * ended can leave it.  FD is open for reading, and NAME is for messages.  0, or
 * -1 with the reason.
 */
int target_check (int fd, const char *name, enum target_name whose,
                  const struct source *source, struct error *error);

/* The same of what is at PATH, and nothing has to be there. */
int target_check_path (const char *path, enum target_name whose,
                       const struct source *source, struct error *error);

#endif /* BLKSUM_TARGET_H */

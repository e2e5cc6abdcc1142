/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a manifest may replace an existing file.
 *
 * If the user forgets an operand, as in "--manifest disk.raw", the existing
 * file is an image, which must not be destroyed.  An image can begin like a
 * manifest, because the guest writes it, so the whole file is checked if it may
 * be an image.
 */

#ifndef BLKSUM_OVERWRITE_H
#define BLKSUM_OVERWRITE_H

struct error;
struct source;

enum overwrite_policy {
  OVERWRITE_CHECK_ALL,          /* check the whole file */
  OVERWRITE_CHECK_START,        /* check only its start: its name shows that
                                 * blksum created it */
};

/* Check that the file FD may be replaced.  It must be a regular file, and not a
 * file of SOURCE, which can be NULL.  It must be empty, or a whole manifest, of
 * an image or of a part.  With OVERWRITE_CHECK_START it need only begin
 * like a manifest, because a crash or an interrupted copy can leave a partial
 * one.  FD is open for reading, and NAME is for messages.  Returns 0, or -1
 * with the reason.
 */
int overwrite_check (int fd, const char *name, enum overwrite_policy policy,
                     const struct source *source, struct error *error);

/* The same for the file at PATH, which need not exist, with
 * OVERWRITE_CHECK_ALL.
 */
int overwrite_check_path (const char *path, const struct source *source,
                          struct error *error);

#endif /* BLKSUM_OVERWRITE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Report that the bytes that were hashed are not those of a disk.
 */

#ifndef BLKSUM_CONTAINER_H
#define BLKSUM_CONTAINER_H

struct first_bytes;

/* Print a line on standard error if FIRST, the first bytes of the operand NAME,
 * show that it contains the image of a disk: it is compressed, an archive, or
 * an image in a format that is only read from a file.  RESULT names the result
 * of the job, such as "sum".
 */
void container_report (const char *name, const struct first_bytes *first,
                       const char *result);

#endif /* BLKSUM_CONTAINER_H */

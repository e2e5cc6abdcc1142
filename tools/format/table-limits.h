/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of the tables of cloop, parallels, qcow and qed images.  These formats
 * are read only if the user gives them, and nothing else of them is checked.
 */

#ifndef BLKSUM_TABLE_LIMITS_H
#define BLKSUM_TABLE_LIMITS_H

#include "format/imagefile.h"

/* Check that the file contains the table that qemu keeps in memory, and that it
 * is not too large, if FORMAT is cloop, parallels, qcow or qed.  An image that
 * is not in this format is left to qemu.  0 or -1.
 */
int table_limits_check (const struct imagefile *file, const char *format,
                        struct error *error);

#endif /* BLKSUM_TABLE_LIMITS_H */

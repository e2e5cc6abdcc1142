/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of the formats that are read only on request, which are looked
 * at for nothing but their size.
 */

#ifndef BLKSUM_TABLE_LIMITS_H
#define BLKSUM_TABLE_LIMITS_H

#include "format/imagefile.h"

/* Check that the file holds the table that qemu keeps in memory, and that it
 * is not too large, if FORMAT is cloop, parallels, qcow or qed.  What is not
 * an image in that format is left to qemu.  0 or -1.
 */
int table_limits_check (const struct imagefile *file, const char *format,
                        struct error *error);

#endif /* BLKSUM_TABLE_LIMITS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of the tables of cloop, parallels, qcow and qed images.  Images in
 * these formats are read only if the user gives the format, and nothing else in
 * them is checked.
 */

#ifndef BLKSUM_TABLE_LIMITS_H
#define BLKSUM_TABLE_LIMITS_H

#include "format/imagefile.h"

/* If FORMAT is cloop, parallels, qcow or qed, check that the tables that qemu
 * keeps in memory are not too large, and, except for qed, that the file
 * contains them.  An image that is not in this format is not checked here, but
 * left to qemu.  Returns 0, or -1 on error.
 */
int table_limits_check (const struct imagefile *file, const char *format,
                        struct error *error);

#endif /* BLKSUM_TABLE_LIMITS_H */

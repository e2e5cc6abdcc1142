/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of the formats qcow and parallels, which are looked at for
 * nothing but their size.
 */

#ifndef BLKSUM_OTHER_TABLES_H
#define BLKSUM_OTHER_TABLES_H

#include "imagefile.h"

/* Check that the file holds the table that qemu keeps in memory.  What is not
 * an image in that format is left to qemu.  0 or -1.
 */
int qcow_check_table (const struct imagefile *file, struct error *error);
int parallels_check_table (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_OTHER_TABLES_H */

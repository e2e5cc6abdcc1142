/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limit the memory of the bitmaps of a qcow2 image.
 */

#ifndef BLKSUM_QCOW2_BITMAPS_H
#define BLKSUM_QCOW2_BITMAPS_H

#include "format/imagefile.h"
#include "format/qcow2.h"

/* Refuse an image whose bitmaps would take too much memory in qemu.  Returns 0,
 * or -1 on error.
 */
int qcow2_check_bitmaps (const struct imagefile *file,
                         const struct qcow2 *qcow2, struct error *error);

#endif /* BLKSUM_QCOW2_BITMAPS_H */

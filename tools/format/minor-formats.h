/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that bochs, cloop, dmg, luks, parallels, qcow and qed images are
 * complete, and limit the memory that qemu allocates for them.
 */

#ifndef BLKSUM_MINOR_FORMATS_H
#define BLKSUM_MINOR_FORMATS_H

#include "format/imagefile.h"

/* If FORMAT is one of these formats, check that the file contains all that the
 * image points to, and that the tables that qemu keeps in memory are not too
 * large.  A file without the magic of FORMAT is not checked, but left to qemu.
 * Returns -1 on error; otherwise 0, also if nothing was checked.  If the image
 * has the size of the disk in bytes, and not in sectors, sets *SIZE to it.
 */
int minor_formats_check (const struct imagefile *file, const char *format,
                         uint64_t *size, struct error *error);

#endif /* BLKSUM_MINOR_FORMATS_H */

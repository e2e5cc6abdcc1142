/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Map offsets of a vhdx disk to offsets in its file.
 */

#ifndef BLKSUM_VHDX_MAP_H
#define BLKSUM_VHDX_MAP_H

#include <stdint.h>

#include "format/pages.h"
#include "format/run.h"
#include "format/vhdx.h"

/* Map OFFSET on the disk, which must be less than the size of the disk: set RUN
 * to the run that starts there, according to the table in PAGES and the parsed
 * VHDX.  The run does not pass the end of the disk.  A run of data that passes
 * the end of the file is an error.  Only one thread at a time may use PAGES.
 * Returns 0, or -1 on error.
 */
int vhdx_map_at (struct pages *pages, const struct vhdx *vhdx,
                 uint64_t offset, struct run *run, struct error *error);

#endif /* BLKSUM_VHDX_MAP_H */

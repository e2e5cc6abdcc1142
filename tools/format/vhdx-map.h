/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where in its file the content of a vhdx is.
 */

#ifndef BLKSUM_VHDX_MAP_H
#define BLKSUM_VHDX_MAP_H

#include <stdint.h>

#include "format/pages.h"
#include "format/run.h"
#include "format/vhdx.h"

/* What is at OFFSET of the disk, less than its size, by the table in PAGES and
 * what was read to VHDX?  All of the run lies in the disk, and in the file, if
 * it is data.  One thread at a time.  0 or -1.
 */
int vhdx_map_at (struct pages *pages, const struct vhdx *vhdx,
                 uint64_t offset, struct run *run, struct error *error);

#endif /* BLKSUM_VHDX_MAP_H */

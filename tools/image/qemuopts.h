/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How qemu is told what to open: by a tree of options, as it knows them from
 * blockdev-add.  They have an explicit driver, so qemu never probes.
 */

#ifndef BLKSUM_QEMUOPTS_H
#define BLKSUM_QEMUOPTS_H

#include <stdbool.h>
#include <string.h>

struct json_object;

/* The options for an image in FORMAT in the file PATH, which can be any name:
 * qemu will not take it for a protocol.  ALONE: no backing file is opened.  The
 * caller puts it; NULL if there is no memory.
 */
struct json_object *qemuopts_of_file (const char *format, const char *path,
                                      bool is_block_device, bool alone);

/* What to give to a program of qemu to open OPTIONS, a tree of strings, read
 * only.  The caller frees it; NULL if there is no memory.
 */
char *qemuopts_target (struct json_object *options, bool force_share);

/* Is this for the place of a file name, and not for --image-opts? */
static inline bool
qemuopts_is_json (const char *target)
{
  return strncmp (target, "json:", 5) == 0;
}

#endif /* BLKSUM_QEMUOPTS_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options with which qemu opens an image: a tree like the argument of
 * blockdev-add.  Each node has a driver, so qemu never probes.
 */

#ifndef BLKSUM_QEMUOPTS_H
#define BLKSUM_QEMUOPTS_H

#include <stdbool.h>
#include <string.h>

struct json_object;
struct layer;

/* Returns the options for an image in FORMAT in the file PATH.  PATH can be any
 * name: qemu does not interpret it as a protocol.  If ALONE is set, no backing
 * file is opened.  The caller drops the reference to the tree with
 * json_object_put.  Returns NULL if there is no memory.
 */
struct json_object *qemuopts_of_file (const char *format, const char *path,
                                      bool is_block_device, bool alone);

/* If the backing chain of LAYER, which OPTIONS open, ends with a vpc, set the
 * option by which qemu uses the current size in its footer.  Returns false if
 * there is no memory.
 */
bool qemuopts_set_vpc_size (struct json_object *options,
                            const struct layer *layer);

/* Returns the argument with which a program of qemu opens OPTIONS, read-only;
 * with FORCE_SHARE, also if another process writes to the image.  The options
 * for both are added to OPTIONS.  The caller frees the argument.  Returns NULL
 * if there is no memory.
 */
char *qemuopts_target (struct json_object *options, bool force_share);

/* Is TARGET a file name that starts with "json:"?  Otherwise it is an option
 * string for --image-opts.
 */
static inline bool
qemuopts_is_json (const char *target)
{
  return strncmp (target, "json:", 5) == 0;
}

#endif /* BLKSUM_QEMUOPTS_H */

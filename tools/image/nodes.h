/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block nodes of qemu that are given by the options of an image: a format
 * on a file, a part of a file, a backing file.
 */

#ifndef BLKSUM_NODES_H
#define BLKSUM_NODES_H

#include "image/layer.h"

struct json_object;

/* Check the image that is given by OPTIONS, a parsed tree.  Each node must have
 * a driver, except a node "file" or "data-file".  The storage (see storage.h)
 * of a format other than raw must be a local file that is not truncated.  The
 * storage of LUKS can also be another format on such a file.  OPTIONS is
 * changed so that qemu uses the size in the footer of a vpc.  Sets *SIZE to the
 * exact size of the disk in bytes, or to 0 if qemu knows it.  Returns 0, or -1
 * on error.
 */
int nodes_check (struct json_object *options,
                 const struct layer_context *context, uint64_t *size,
                 struct error *error);

#endif /* BLKSUM_NODES_H */

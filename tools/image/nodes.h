/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The nodes that the options of an image describe: a format on a file, a part
 * of a file, a backing file.
 */

#ifndef BLKSUM_NODES_H
#define BLKSUM_NODES_H

#include "image/layer.h"

struct json_object;

/* Check the image that OPTIONS, the tree of OPTS, describes: each node must
 * have a driver, and its local files must be complete.  0 or -1.
 */
int nodes_check (struct json_object *options, const char *opts,
                 const struct layer_context *context, struct error *error);

#endif /* BLKSUM_NODES_H */

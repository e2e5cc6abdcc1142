/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All the layers of an image, one behind the other.  For images whose format
 * the user gave: what they name is trusted, that they are complete and that
 * qemu has nothing to probe is checked.
 */

#ifndef BLKSUM_LAYERS_H
#define BLKSUM_LAYERS_H

#include "image/layer.h"

struct file;

/* Check the image in FORMAT in FILE and what is behind it.  0 or -1. */
int layers_check (const struct file *file, const char *format,
                  const struct layer_context *context, struct error *error);

/* Check LAYER, which was named by FROM and is not yet open, and what is behind
 * it.  LAYER is destroyed.  0 or -1.
 */
int layers_check_named (struct layer *layer, const struct layer *from,
                        const struct layer_context *context,
                        struct error *error);

#endif /* BLKSUM_LAYERS_H */

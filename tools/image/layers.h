/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All the layers of an image, one behind the other.  For images whose format
 * the user gave: what they name is trusted, that they are complete and that
 * qemu has nothing to probe is checked.
 */

#ifndef BLKSUM_LAYERS_H
#define BLKSUM_LAYERS_H

struct error;
struct layer;
struct layer_context;

/* Check LAYER, and what is behind it, which is added to it.  0 or -1. */
int layers_check (struct layer *layer, const struct layer_context *context,
                  struct error *error);

#endif /* BLKSUM_LAYERS_H */

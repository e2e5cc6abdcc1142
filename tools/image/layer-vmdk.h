/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer in the vmdk format, and the files that its descriptor names.
 */

#ifndef BLKSUM_LAYER_VMDK_H
#define BLKSUM_LAYER_VMDK_H

struct error;
struct layer;
struct layer_context;

/* Check that LAYER and its extents are complete, and open these.  What is
 * behind it is not known here.  0 or -1.
 */
int layer_check_vmdk (const struct layer *layer,
                      const struct layer_context *context,
                      struct error *error);

#endif /* BLKSUM_LAYER_VMDK_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a layer is complete, and find its backing layer.  The caller sets
 * the format of the layer, and follows the chain.
 */

#ifndef BLKSUM_LAYER_CHECK_H
#define BLKSUM_LAYER_CHECK_H

struct error;
struct imagefile;
struct layer;
struct layer_context;

/* Check a layer, and set its backing layer to the one that it names, which is
 * not opened.  0 or -1.
 */
int layer_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

/* Check the tables of a qcow2 whose header was read.  DATA has its clusters;
 * NULL: they cannot be checked.  0 or -1.
 */
int layer_check_tables (struct layer *layer, const struct imagefile *data,
                        struct error *error);

#endif /* BLKSUM_LAYER_CHECK_H */

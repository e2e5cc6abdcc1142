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

/* How the user can hash the content of an encrypted image. */
#define LAYER_SECRET_HINT \
  "to hash its content, export it with qemu-nbd --object, as blksum(1) shows " \
  "under 'Encrypted images'"

/* Check a layer, which is a local file, and set its backing layer to the one
 * that its header names.  The backing layer is not opened.  Returns 0, or -1 on
 * error.
 */
int layer_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

/* Check the tables of LAYER, a qcow2 image whose header was read.  DATA is the
 * file that contains the data clusters.  Returns 0, or -1 on error.
 */
int layer_check_tables (struct layer *layer, const struct imagefile *data,
                        struct error *error);

#endif /* BLKSUM_LAYER_CHECK_H */

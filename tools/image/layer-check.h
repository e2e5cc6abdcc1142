/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a layer is complete, and find its backing layer; or check a whole
 * backing chain.
 *
 * The header of a qcow2 is read by our own parser, before qemu opens any file,
 * because qemu would probe a backing file whose format is not recorded in the
 * header.  For a vmdk, qemu-img is run to report the backing file.  It opens
 * only this layer.
 */

#ifndef BLKSUM_LAYER_CHECK_H
#define BLKSUM_LAYER_CHECK_H

#include <stdbool.h>

struct error;
struct imagefile;
struct layer;
struct layer_context;

/* How the user can hash the content of an encrypted image. */
#define LAYER_SECRET_HINT \
  "to hash its content, export it with qemu-nbd --object, as blksum(1) shows " \
  "under 'Encrypted images'"

/* Returns true if DRIVER is a known format other than "raw". */
bool layer_is_format (const char *driver);

/* Check a layer, which is a local file, and set its backing layer to the one
 * that its header names.  The caller has set the format of the layer.  The
 * backing layer is not opened.  Returns 0, or -1 on error.
 */
int layer_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

/* Check the tables of LAYER, a qcow2 image whose header was read.  DATA is the
 * file that contains the data clusters.  Returns 0, or -1 on error.
 */
int layer_check_tables (struct layer *layer, const struct imagefile *data,
                        struct error *error);

/* Check LAYER, an image whose format the user gave, and add and check its
 * backing chain.  The files that the image names are trusted.  Each layer must
 * be complete, and its format must be recorded, so that qemu does not probe it.
 * Returns 0, or -1 on error.
 */
int chain_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

#endif /* BLKSUM_LAYER_CHECK_H */

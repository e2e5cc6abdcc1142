/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a layer is complete, and find its backing layer.  The caller sets
 * the format of the layer, and follows the chain.
 */

#ifndef BLKSUM_LAYER_CHECK_H
#define BLKSUM_LAYER_CHECK_H

/* A layer in the vmdk format, and the files that its descriptor names.
 */

struct error;
struct files;
struct imagefile;

/* Check that the image in FILE, at PATH, and its extents are complete.  The
 * extents are opened and added to FILES.  The backing file is not checked.
 * Returns 0, or -1 on error.
 */
int layer_vmdk_check (const struct imagefile *file, const char *path,
                      struct files *files, struct error *error);

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

/* The backing chain of an image whose format the user gave.  The files that the
 * image names are trusted.  Each layer is checked: it must be complete, and its
 * format must be recorded, so that qemu does not probe it.
 */

struct error;
struct layer;
struct layer_context;

/* Check LAYER, and add and check its backing chain.  Returns 0, or -1 on error.
 */
int chain_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

#endif /* BLKSUM_LAYER_CHECK_H */

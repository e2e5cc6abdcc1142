/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is a layer complete, and what is behind it?  Whoever calls says what its
 * format is; how layers follow each other is not known here.
 */

#ifndef BLKSUM_LAYER_CHECK_H
#define BLKSUM_LAYER_CHECK_H

struct error;
struct imagefile;
struct layer;
struct layer_context;

/* Check a layer and set what is behind it, by what it says itself; that is not
 * opened.  0 or -1.
 */
int layer_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

/* Check the tables of a qcow2 whose header was read, with its clusters in DATA;
 * NULL: somewhere else.  0 or -1.
 */
int layer_check_tables (struct layer *layer, const struct imagefile *data,
                        struct error *error);

#endif /* BLKSUM_LAYER_CHECK_H */

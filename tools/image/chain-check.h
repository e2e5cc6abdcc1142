/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The backing chain of an image whose format the user gave.  The files that the
 * image names are trusted.  Each layer is checked: it must be complete, and its
 * format must be recorded, so that qemu does not probe it.
 */

#ifndef BLKSUM_CHAIN_CHECK_H
#define BLKSUM_CHAIN_CHECK_H

struct error;
struct layer;
struct layer_context;

/* Check LAYER, and add and check its backing chain.  Returns 0, or -1 on error.
 */
int chain_check (struct layer *layer, const struct layer_context *context,
                 struct error *error);

#endif /* BLKSUM_CHAIN_CHECK_H */

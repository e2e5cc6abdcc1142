/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare two images by their manifests.
 */

#ifndef BLKHASH_MANIFEST_DIFF_H
#define BLKHASH_MANIFEST_DIFF_H

#include <stdbool.h>

struct blkhash_manifest_reader;

/* Check that the sums of two manifests are consistent with their leaves.
 * DIFFER is true if the leaves differ.  The sums of images with the same size,
 * digest, block size and construction are equal if and only if their leaves
 * are.  Returns false if the sums are inconsistent.  Returns true if they are
 * consistent, or cannot be checked: because one of these properties differs, or
 * because a manifest is that of a part or was not read to its end.
 */
bool manifest_diff_fits_sums (const struct blkhash_manifest_reader *a,
                              const struct blkhash_manifest_reader *b,
                              bool differ);

#endif /* BLKHASH_MANIFEST_DIFF_H */

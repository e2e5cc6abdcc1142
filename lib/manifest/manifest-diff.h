/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare two images by their manifests.
 */

#ifndef BLKHASH_MANIFEST_DIFF_H
#define BLKHASH_MANIFEST_DIFF_H

#include <stdbool.h>

struct blkhash_manifest_reader;

/* Are the sums of two manifests consistent with DIFFER, whether their leaves
 * differ?  Sums of images of the same size, with the same digest, block size
 * and construction, are equal if and only if the leaves are.  Returns true if
 * it cannot be checked: one of these differs, or a manifest is of a part or was
 * not read to its end.
 */
bool manifest_diff_fits_sums (const struct blkhash_manifest_reader *a,
                              const struct blkhash_manifest_reader *b,
                              bool differ);

#endif /* BLKHASH_MANIFEST_DIFF_H */

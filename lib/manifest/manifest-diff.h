/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where two images differ, by their manifests.
 */

#ifndef BLKHASH_MANIFEST_DIFF_H
#define BLKHASH_MANIFEST_DIFF_H

#include <stdbool.h>

struct blkhash_manifest_reader;

/* Do the sums of two manifests agree with what was found, that their leaves
 * DIFFER or not?  Those of the same kind are the same if the leaves are, and
 * only then.  True if that cannot be known: the sums are of different kinds, or
 * a manifest is of a part or was not read to its end.
 */
bool manifest_diff_fits_sums (const struct blkhash_manifest_reader *a,
                              const struct blkhash_manifest_reader *b,
                              bool differ);

#endif /* BLKHASH_MANIFEST_DIFF_H */

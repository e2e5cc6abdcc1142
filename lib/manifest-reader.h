/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A reader of a manifest: what manifest-table.c needs of it beside the public
 * API, in blkhash-manifest.h.
 */

#ifndef BLKHASH_MANIFEST_READER_H
#define BLKHASH_MANIFEST_READER_H

#include <stdbool.h>

struct blkhash_manifest_reader;

/* It was started and not read on, and will compare the sum. */
bool
manifest_reader_is_fresh (const struct blkhash_manifest_reader *r);

/* What was read cannot be used.  Returns ERR. */
int manifest_reader_fail (struct blkhash_manifest_reader *r, int err);

#endif /* BLKHASH_MANIFEST_READER_H */

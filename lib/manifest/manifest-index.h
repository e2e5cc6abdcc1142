/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random access to the leaves of a manifest, which is untrusted and may change
 * while it is in use.
 *
 * The manifest is read once, from start to end, and validated.  Only digests of
 * its pieces are kept: a piece that is read again later must have the same
 * content.  So memory is small, whatever the size of the manifest, and the
 * leaves are always those whose sum was computed.
 */

#ifndef BLKHASH_MANIFEST_INDEX_H
#define BLKHASH_MANIFEST_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

struct blkhash_opts;

struct manifest_index;

/* Read the header of the manifest in FD, a regular file at its offset 0, which
 * must stay open.  FLAGS, errors and the reason are those of
 * blkhash_manifest_reader_new; ESPIPE if FD is not a regular file.
 */
struct manifest_index *manifest_index_new (int fd, unsigned flags,
                                           char *reason, size_t size);
void manifest_index_free (struct manifest_index *index);

/* What the header says; they live as long as INDEX. */
const struct blkhash_opts *
manifest_index_opts (const struct manifest_index *index);
uint64_t manifest_index_size (const struct manifest_index *index);

/* Called with OPAQUE for each run of blocks, in order, while the manifest is
 * read: its sum is not known yet.  0 or ENOMEM.
 */
typedef int manifest_run_function (void *opaque,
                                   const struct blkhash_manifest_run *run);

/* Read the rest, and call FUNCTION, unless NULL.  It must be called once before
 * the functions below, and returns 0, ENODATA if it is the manifest of a part
 * of an image, or an error of FUNCTION or blkhash_manifest_reader_next.  The
 * reason is stored as by manifest_index_new.
 */
int manifest_index_load (struct manifest_index *index,
                         manifest_run_function *function, void *opaque,
                         char *reason, size_t size);

/* The sum of the image: BLKHASH_MAX_MD_SIZE bytes, of which those of a digest
 * are set.  Without BLKHASH_MANIFEST_NO_SUM it is that of the leaves.
 */
const unsigned char *manifest_index_sum (const struct manifest_index *index);

/* Store in *RUN the blocks from FIRST on, at least one and at most MAX, that
 * are all data or all zeros.  FIRST must be a block of the image.  The leaves
 * of data are stored in LEAVES, which has room for MAX of them; if LEAVES is
 * NULL, RUN->leaves is not NULL for data, and must not be dereferenced.
 *
 * Any number of threads may call it.  0; ESTALE: the file has changed; ENOMEM,
 * EIO, or that of read(2).
 */
int manifest_index_get (struct manifest_index *index, uint64_t first,
                        uint64_t max, unsigned char *leaves,
                        struct blkhash_manifest_run *run);

#endif /* BLKHASH_MANIFEST_INDEX_H */

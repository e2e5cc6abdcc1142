/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random access to the leaves of a manifest, which is untrusted and may change
 * while it is in use.
 *
 * The manifest is read once, from start to end, and validated.  If a piece of
 * it is read again later, it must have the digest that it had the first time.
 * Only these digests, the positions of some records, and a cache of fixed size
 * are kept, so memory is a few percent of a large manifest at most.  The leaves
 * that are returned are always those that were validated.
 */

#ifndef BLKHASH_MANIFEST_INDEX_H
#define BLKHASH_MANIFEST_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

struct blkhash_opts;

struct manifest_index;

/* Bytes of a piece, which is read and hashed as a whole.  It is small, so that
 * small reads are cheap, but 128 times as large as its digest, which stays in
 * memory.
 */
#define PINNED_PIECE 4096
#define PINNED_CACHE 128        /* pieces in memory */

/* Read the header of the manifest in FD, a regular file whose file offset is 0.
 * FD must stay open.  REASON, SIZE and the errors are those of
 * blkhash_manifest_reader_new, but REASON must not be NULL.  Other errors are
 * ESPIPE if FD is not a regular file, and EINVAL if SHA-256 is not available.
 */
struct manifest_index *manifest_index_new (int fd, char *reason, size_t size);
void manifest_index_free (struct manifest_index *index);

/* The hash parameters and the size of the image, in bytes, from the header.
 * The parameters live as long as INDEX.
 */
const struct blkhash_opts *
manifest_index_opts (const struct manifest_index *index);
uint64_t manifest_index_size (const struct manifest_index *index);

/* Called with OPAQUE for each run of blocks, in order. */
typedef int manifest_run_function (void *opaque,
                                   const struct blkhash_manifest_run *run);

/* Called with OPAQUE several times a second while the manifest is read, unless
 * a read of the file takes longer.  Returns 0, or an error to stop.
 */
typedef int manifest_poll_function (void *opaque);

/* The functions that follow change what manifest_index_load does, and are
 * called before it.
 */
void manifest_index_set_poll (struct manifest_index *index,
                              manifest_poll_function *poll, void *opaque);

/* Do not compute the sum, as if BLKHASH_MANIFEST_NO_SUM had been given. */
void manifest_index_skip_sum (struct manifest_index *index);

/* Read the rest of the manifest, and call FUNCTION, unless NULL, for each run,
 * before the sum is verified.  FUNCTION returns 0 or ENOMEM.  Must be called
 * once, by one thread, before the functions below.  Returns 0; ENODATA if this
 * is the manifest of a part of an image; ENOMEM; or an error of FUNCTION, the
 * poll function or blkhash_manifest_reader_next.  Stores the reason as
 * manifest_index_new does.
 */
int manifest_index_load (struct manifest_index *index,
                         manifest_run_function *function, void *opaque,
                         char *reason, size_t size);

/* Returns the sum in the manifest, a buffer of BLKHASH_MAX_MD_SIZE bytes that
 * begins with the sum.  After manifest_index_skip_sum this was not compared
 * with the sum of the leaves.
 */
const unsigned char *manifest_index_sum (const struct manifest_index *index);

#define MANIFEST_INDEX_DIGEST_SIZE 32 /* bytes of SHA-256 */

/* Store in MD a SHA-256 that identifies the content of the file, as
 * manifest_index_load read it.  Returns 0, ENOMEM or EIO.
 */
int manifest_index_digest (const struct manifest_index *index,
                           unsigned char md[MANIFEST_INDEX_DIGEST_SIZE]);

/* Call FUNCTION with OPAQUE for each run of blocks, in order, without their
 * leaves: see manifest_index_get.  FUNCTION returns 0, or an error to stop.
 * Thread-safe.  Returns 0, the error of FUNCTION, or that of
 * manifest_index_get.
 */
int manifest_index_each (struct manifest_index *index,
                         manifest_run_function *function, void *opaque);

/* Store in *RUN a run of data or zeros that begins at block FIRST of the image,
 * of at least one and at most MAX blocks.  The leaves of data are stored in
 * LEAVES, which has room for MAX leaves.  If LEAVES is NULL, RUN->leaves only
 * tells data (not NULL) from zeros (NULL), and must not be dereferenced.
 *
 * Thread-safe.  Returns 0; ESTALE if the file has changed; ENOMEM, EIO, or an
 * error of pread(2) or fstat(2).
 */
int manifest_index_get (struct manifest_index *index, uint64_t first,
                        uint64_t max, unsigned char *leaves,
                        struct blkhash_manifest_run *run);

#endif /* BLKHASH_MANIFEST_INDEX_H */

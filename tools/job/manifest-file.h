/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest that is written while an image is hashed: --manifest.
 *
 * Leaves are written while they are added to the sum.  A file is published when
 * it is complete.  A manifest on standard output has no end record until it is
 * complete.
 *
 * A manifest starts with the size of the image.  If the size is known only
 * after the image was read, the start of a file is written last, and a manifest
 * on standard output is first written to a temporary file.
 *
 * If the user forgets an operand, as in "--manifest disk.raw", the existing
 * file is an image, which must not be destroyed.  An image can begin like a
 * manifest, because the guest writes it, so the whole file is checked if it may
 * be an image.
 */

#ifndef BLKSUM_MANIFEST_FILE_H
#define BLKSUM_MANIFEST_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/new-file.h"

struct blkhash_manifest_writer;
struct blkhash_opts;
struct error;
struct leaf_runs;
struct scan_request;
struct source;
struct sum;

enum overwrite_policy {
  OVERWRITE_CHECK_ALL,          /* check the whole file */
  OVERWRITE_CHECK_START,        /* check only its start: its name shows that
                                 * blksum created it */
};

/* Check that the file FD may be replaced.  It must be a regular file, and not a
 * file of SOURCE, which can be NULL.  It must be empty, or a whole manifest, of
 * an image or of a part.  With OVERWRITE_CHECK_START it need only begin like a
 * manifest, because a crash or an interrupted copy can leave a partial one.  FD
 * is open for reading, and NAME is for messages.  Returns 0, or -1 with the
 * reason.
 */
int overwrite_check (int fd, const char *name, enum overwrite_policy policy,
                     const struct source *source, struct error *error);

/* The same for the file at PATH, which need not exist, with
 * OVERWRITE_CHECK_ALL.
 */
int overwrite_check_path (const char *path, const struct source *source,
                          struct error *error);

struct manifest_file {
  bool to_stdout;
  bool spooled;                 /* written to FILE first, then to stdout */
  struct replacement file;      /* without a path if it has no name */
  enum overwrite_policy policy; /* for a file that FILE replaces */
  const struct source *source;  /* the image, or NULL */
  struct blkhash_manifest_writer *writer;
  uint32_t block_size;          /* bytes */
  uint64_t data;                /* number of data blocks that were written */
  bool ends_with_data;          /* the last block, perhaps a short one, is data
                                 */
};

/* Returns true if NAME is standard output. */
bool manifest_file_is_stdout (const char *name);

/* Begin the manifest NAME of an image that is hashed with OPTS.  SIZE can be
 * BLKHASH_SIZE_UNKNOWN.  If NAME is NULL, there is no file, and only the sum is
 * computed.  An existing file is replaced only if overwrite_check_path with
 * SOURCE, which is the image or NULL, permits it, now and when the manifest is
 * published.  Returns 0, or -1 with the reason; then the manifest must not be
 * closed.
 */
int manifest_file_open (struct manifest_file *manifest, const char *name,
                        const struct blkhash_opts *opts, uint64_t size,
                        const struct source *source, struct error *error);

/* The same for a part of the image: COUNT blocks from FIRST on.  PLAN is the
 * SHA-256 of the plan, in digits.  PATH is never standard output.  An existing
 * file is not checked before the manifest is published, with
 * OVERWRITE_CHECK_START, and a symbolic link is not followed.
 */
int manifest_file_open_part (struct manifest_file *manifest, const char *path,
                             const struct blkhash_opts *opts, uint64_t size,
                             uint64_t first, uint64_t count, const char *plan,
                             const struct source *source,
                             struct error *error);

/* Write all leaves of RUNS, an iterator of the whole image.  In the manifest of
 * a part, the leaves of other blocks are skipped.  Returns 0; or -1 with the
 * reason in ERROR, unless RUNS failed: RUNS stores its reason itself.
 */
int manifest_file_write (struct manifest_file *manifest,
                         struct leaf_runs *runs, struct error *error);

/* Write the end of the manifest, after all leaves.  The caller has set
 * sum->size, the size of the image, and sum->hole, the number of bytes that are
 * known to be zero without reading.  Stores in SUM the sum, which a part does
 * not have, and the numbers of data and zero bytes.  Returns 0, or -1 with the
 * reason.
 */
int manifest_file_finish (struct manifest_file *manifest, struct sum *sum,
                          struct error *error);

/* Hash the image of SOURCE according to REQUEST, write its leaves, and finish.
 * Returns 0, or -1 with the reason.
 */
int manifest_file_hash (struct manifest_file *manifest, struct source *source,
                        const struct scan_request *request, struct sum *sum,
                        struct error *error);

/* Publish the manifest.  The source must still be open.  Returns 0, or -1 with
 * the reason.
 */
int manifest_file_publish (struct manifest_file *manifest,
                           struct error *error);

/* Close MANIFEST.  The file is discarded unless it was published. */
void manifest_file_close (struct manifest_file *manifest);

#endif /* BLKSUM_MANIFEST_FILE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest that is made while an image is hashed: --manifest.
 */

#ifndef BLKSUM_MANIFEST_FILE_H
#define BLKSUM_MANIFEST_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/new-file.h"
#include "job/target.h"

struct blkhash_manifest_writer;
struct blkhash_opts;
struct error;
struct image_request;
struct leaf_runs;
struct source;
struct sum;

struct manifest_file {
  bool to_stdout;
  bool spooled;                 /* written to FILE, and then to stdout */
  struct new_file file;
  struct blkhash_manifest_writer *writer;
  uint32_t block_size;          /* bytes */
  uint64_t data;                /* blocks that were written */
  bool ends_with_data;          /* the last one, which can be shorter */
};

/* Is NAME standard output? */
bool manifest_file_is_stdout (const char *name);

/* Begin the manifest NAME of an image that is hashed by OPTS.  SIZE can be
 * BLKHASH_SIZE_UNKNOWN.  What is there must be something that job/target.h says
 * can be replaced, for WHOSE and SOURCE, the image, or NULL.  0, or -1 with the
 * reason: then there is nothing to be closed.
 */
int manifest_file_open (struct manifest_file *manifest, const char *name,
                        enum target_name whose,
                        const struct blkhash_opts *opts, uint64_t size,
                        const struct source *source, struct error *error);

/* The same of a part of the image: of COUNT blocks from FIRST on.  What is at
 * PATH, and no standard output, is replaced whatever it is, and not followed if
 * it is a symbolic link.
 */
int manifest_file_open_part (struct manifest_file *manifest, const char *path,
                             const struct blkhash_opts *opts, uint64_t size,
                             uint64_t first, uint64_t count,
                             struct error *error);

/* Write the leaves of the image, all that RUNS has; of a part those of others
 * are passed over.  0; -1 with the reason; or -1 if RUNS failed.
 */
int manifest_file_write (struct manifest_file *manifest,
                         struct leaf_runs *runs, struct error *error);

/* That was all, of an image of SUM's size.  Write the end, and store the sum in
 * SUM, which a part of the image has none of, and how much of what was written
 * is data and zero.
 */
int manifest_file_finish (struct manifest_file *manifest, struct sum *sum,
                          struct error *error);

/* These two with the leaves of the image of SOURCE, as REQUEST says. */
int manifest_file_hash (struct manifest_file *manifest, struct source *source,
                        const struct image_request *request, struct sum *sum,
                        struct error *error);

/* Then the manifest appears. */
int manifest_file_publish (struct manifest_file *manifest,
                           struct error *error);

/* There is none, unless it was published. */
void manifest_file_close (struct manifest_file *manifest);

#endif /* BLKSUM_MANIFEST_FILE_H */

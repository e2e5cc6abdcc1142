/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of two images that are compared: an image, which is hashed, or its
 * manifest, which is read.  Either becomes an iterator of leaves.
 */

#ifndef BLKSUM_COMPARE_INPUT_H
#define BLKSUM_COMPARE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"
#include "leaves/image-runs.h"
#include "leaves/manifest-runs.h"
#include "leaves/subset-runs.h"
#include "util/error.h"
#include "util/result.h"

struct blkhash_manifest_reader;
struct compare_request;
struct progress;
struct source;

struct compare_input {
  const char *operand;
  const struct compare_request *request;
  struct source *source;        /* of an image, or NULL */
  struct blkhash_manifest_reader *reader; /* of a manifest, or NULL */
  int fd;                       /* of a manifest, or -1 */
  uint64_t size;                /* of the image, bytes; of a pipe it is
                                 * SOURCE_SIZE_UNKNOWN up to its end */
  struct follows follows;       /* of a manifest: what is in it behind that */
  struct error error;           /* why it failed */

  /* Its leaves. */
  const struct blkhash_opts *opts;
  const struct compare_input *other;
  struct image_runs image;
  struct manifest_runs manifest;
  struct subset_runs subset;
};

/* Open OPERAND.  With CHECK_SUM the sum of a manifest is computed while it is
 * read.  0, or -1 with the reason in INPUT: then it need not be closed.
 */
int compare_input_open (struct compare_input *input,
                        const struct compare_request *request,
                        const char *operand, bool check_sum);
void compare_input_close (struct compare_input *input);

/* Make BOTH the two inputs as one image, which is zero where they are the same;
 * without a source if that cannot be.  They must stay open.  0, or -1 with
 * errno set.
 */
int compare_input_open_both (struct compare_input *both,
                             const struct compare_input inputs[2]);

/* Would each get a part of what comes out of a pipe? */
bool compare_input_is_same_pipe (const struct compare_input *a,
                                 const struct compare_input *b);

/* Begin to read its leaves, which are made as OPTS say, to be compared with
 * those of OTHER, in the same GROUP.  PROGRESS is NULL if the other tells how
 * far it is.  NULL with the reason in INPUT: then there is nothing to be
 * stopped.
 */
struct leaf_runs *
compare_input_start (struct compare_input *input,
                     const struct blkhash_opts *opts,
                     const struct compare_input *other,
                     struct image_group *group,
                     const struct progress *progress);

/* No more leaves are taken. */
void compare_input_stop (struct compare_input *input);

/* The sum of a manifest that was read to its end, as --tag --no-names prints
 * it, which the caller frees; or NULL.
 */
char *compare_input_sum (const struct compare_input *input);

#endif /* BLKSUM_COMPARE_INPUT_H */

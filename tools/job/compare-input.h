/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An input of a comparison: an image, whose leaves are computed, or a manifest,
 * which has them.  Either becomes an iterator of leaf runs, see
 * ../lib/manifest/leaf-runs.h.
 */

#ifndef BLKSUM_COMPARE_INPUT_H
#define BLKSUM_COMPARE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"
#include "job/image-runs.h"
#include "job/overlay-runs.h"
#include "util/error.h"
#include "util/source-options.h"

struct blkhash_manifest_reader;
struct compare_request;
struct part_range;
struct progress;
struct source;

struct compare_input {
  const char *operand, *format;
  struct source_options options; /* of the source, which refers to them */
  const struct compare_request *request;
  struct source *source;        /* an image; or NULL */
  struct blkhash_manifest_reader *reader; /* a manifest; or NULL */
  int fd;                       /* the file of the manifest, or -1 */
  unsigned char md[BLKHASH_MAX_MD_SIZE]; /* with a part: the sum of the
                                          * manifest, which was verified */
  uint64_t size;                /* size of the image in bytes;
                                 * SOURCE_SIZE_UNKNOWN for a pipe that has not
                                 * ended */
  uint64_t trailing;            /* with --size: bytes after the image, or
                                 * SOURCE_SIZE_UNKNOWN */
  struct part_range *range;     /* the bytes to read of an image, or NULL for
                                 * all; set by the caller */
  struct error error;           /* the reason of a failure */

  /* The iterator of leaf runs, and what it needs. */
  const struct blkhash_opts *opts;
  const struct compare_input *other;
  struct image_runs image;
  struct manifest_runs manifest;
};

/* Open operand I of REQUEST.  If CHECK_SUM is set, the sum of a manifest is
 * computed while its leaves are read, and verified at its end.  Returns 0, or
 * -1 with the reason in INPUT, which must be closed in any case.
 */
int compare_input_open (struct compare_input *input,
                        const struct compare_request *request, int i,
                        bool check_sum);
void compare_input_close (struct compare_input *input);

/* Open BOTH: the two inputs as one image, which is zero where they are
 * identical.  If the inputs do not support this, both->source is NULL.  The
 * inputs must stay open.  Returns 0, or -1 with errno set.
 */
int compare_input_open_both (struct compare_input *both,
                             const struct compare_input inputs[2]);

/* Returns true if both inputs are the same pipe: each input would get only a
 * part of the data.
 */
bool compare_input_is_same_pipe (const struct compare_input *a,
                                 const struct compare_input *b);

/* Start to read the leaves of INPUT, with the hash parameters OPTS.  The caller
 * compares them with the leaves of OTHER.  So the end of an image is padded,
 * depending on the size of OTHER, and on whether OTHER is an image or a
 * manifest.  If both are images, they are hashed in the same GROUP.  If INPUT
 * is from compare_input_open_both, OTHER is one of the two images, and GROUP is
 * NULL.  PROGRESS is NULL if only OTHER reports the progress.  Returns an
 * iterator that is a part of INPUT; or NULL with the reason in INPUT: then
 * compare_input_stop must not be called.
 */
struct leaf_runs *
compare_input_start (struct compare_input *input,
                     const struct blkhash_opts *opts,
                     const struct compare_input *other,
                     struct image_group *group,
                     const struct progress *progress);

/* Stop reading; the iterator must not be used any more.  Sets the size of a
 * pipe that has ended.
 */
void compare_input_stop (struct compare_input *input);

/* Returns true for a manifest that was read to its end with a part, and then
 * had another sum than when it was verified.
 */
bool compare_input_has_changed (const struct compare_input *input);

#endif /* BLKSUM_COMPARE_INPUT_H */

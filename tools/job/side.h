/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of two images that are compared: an image, which is hashed, or its
 * manifest, which is read.  Each brings its leaves to where they meet, in a
 * thread of its own.
 */

#ifndef BLKSUM_SIDE_H
#define BLKSUM_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"
#include "cli/follows.h"
#include "util/error.h"

struct blkhash_manifest_reader;
struct meet;
struct options;
struct progress;
struct source;

struct side {
  const char *operand;
  const struct options *options;
  struct source *source;        /* of an image, or NULL */
  struct blkhash_manifest_reader *reader; /* of a manifest, or NULL */
  int fd;                       /* of a manifest, or -1 */
  uint64_t size;                /* of the image, bytes; of a pipe it is
                                 * SOURCE_SIZE_UNKNOWN up to its end */
  struct follows follows;       /* of a manifest: what is in it behind that */

  /* For side_run. */
  const struct blkhash_opts *opts;
  const struct side *other;
  struct meet *meet;
  int index;                    /* in MEET */
  struct progress *progress;    /* or NULL: the other tells how far it is */

  /* What came of it. */
  bool failed;
  struct error error;
};

/* Open OPERAND.  With CHECK_SUM the sum of a manifest is computed while it is
 * read.  0, or -1 with the reason in SIDE: then it need not be closed.
 */
int side_open (struct side *side, const struct options *options,
               const char *operand, bool check_sum);
void side_close (struct side *side);

/* Make BOTH the two sides as one image, which is zero where they are the same;
 * without a source if that cannot be.  They must stay open.  0, or -1 with
 * errno set.
 */
int side_open_both (struct side *both, const struct side sides[2]);

/* Would each get a part of what comes out of a pipe? */
bool side_is_same_pipe (const struct side *a, const struct side *b);

/* Bring all leaves: a thread function, whose ARG is a struct side. */
void *side_run (void *arg);

/* The sum of a manifest that was read to its end, as --tag --no-names prints
 * it, which the caller frees; or NULL.
 */
char *side_sum (const struct side *side);

#endif /* BLKSUM_SIDE_H */

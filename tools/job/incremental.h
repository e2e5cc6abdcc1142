/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The manifest of an image of which another manifest says most: what --resume
 * and --update have in common.
 *
 * The image is read where that is unknown, and here and there where it is
 * believed, to see whether it is so.  Nothing is kept but what is read ahead:
 * what is believed is read from its manifest, in order, at the moment in which
 * the new one needs it.
 */

#ifndef BLKSUM_INCREMENTAL_H
#define BLKSUM_INCREMENTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash-manifest.h"

#include "cli/progress.h"
#include "job/manifest-file.h"
#include "util/choice.h"
#include "util/error.h"

struct journal;
struct options;
struct ranges;
struct source;
struct sum;

/* What is believed. */
struct belief {
  struct blkhash_manifest_reader *reader; /* or NULL: nothing is */
  const char *name;             /* of its manifest */
  bool finished;                /* it is right only if all of it is */
  struct ranges *unknown;       /* all else is in it */
};

struct incremental {
  const struct options *options;
  struct source *source;
  const struct belief *belief;
  struct choice choice;
  uint32_t block_size;          /* bytes */
  struct blkhash_leaves *read;  /* what is read; the rest is zero */
  struct blkhash_leaves *all;   /* the image */
  struct manifest_file manifest;
  struct progress progress;

  /* For whoever is told of leaves: one thread at a time. */
  struct blkhash_manifest_run run; /* of the reader: what is left of it */
  size_t leaf_size;             /* bytes */
  uint64_t believed_zeros;      /* bytes */
  struct journal *journal;      /* is told too; or NULL */
  struct error error;           /* why it was ended */
  bool differs;                 /* because of an audited block */
};

/* Begin the manifest that OPTIONS say, of SOURCE.  BELIEF must outlive it.  0,
 * or -1 with the reason: then there is nothing to be closed.
 */
int incremental_open (struct incremental *incremental,
                      const struct options *options, struct source *source,
                      const struct belief *belief, struct error *error);

/* Read what is needed, and set SUM as job_hash_source does.  JOURNAL is told of
 * all blocks, or is NULL.  0; 1: a block is not what is believed, which ERROR
 * says; or -1 with the reason.
 */
int incremental_fill (struct incremental *incremental,
                      struct journal *journal, struct sum *sum,
                      struct error *error);

/* Then the manifest appears.  0, or -1 with the reason. */
int incremental_publish (struct incremental *incremental,
                         struct error *error);

/* There is none, unless it was published. */
void incremental_close (struct incremental *incremental);

#endif /* BLKSUM_INCREMENTAL_H */

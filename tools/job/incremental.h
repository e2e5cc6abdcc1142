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

#include "job/manifest-file.h"
#include "util/audit-sample.h"

struct error;
struct hash_request;
struct journal;
struct ranges;
struct source;
struct sum;

/* What is believed. */
struct belief {
  struct blkhash_manifest_reader *reader; /* or NULL: nothing is */
  const char *name;             /* of its manifest */
  bool finished;                /* it is right only if all of it is */
  struct ranges *unknown;       /* all else is in it */
  uint32_t audit;               /* how much of that is read nevertheless, in
                                 * millionths of a percent */
};

struct incremental {
  const struct hash_request *request;
  struct source *source;
  const struct belief *belief;
  struct audit_sample sample;
  struct manifest_file manifest;
};

/* Begin the manifest of REQUEST, of SOURCE; for WHOSE see job/target.h.  BELIEF
 * must outlive it.  0, or -1 with the reason: then there is nothing to be
 * closed.
 */
int incremental_open (struct incremental *incremental,
                      const struct hash_request *request,
                      enum target_name whose, struct source *source,
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

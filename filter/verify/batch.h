/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read and verify consecutive blocks.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_BATCH_H
#define NBDKIT_BLKHASH_VERIFY_BATCH_H

#include <stdbool.h>

#include "verify/tally.h"

struct compare_batch;
struct disk;
struct nbdkit_next_ops;
struct source;

#define MAX_BATCH 1024          /* blocks in a call of batch_read, at most */

/* The state of a client's request while its blocks are read and verified. */
struct check {
  struct disk *disk;
  const struct source *source;
  struct nbdkit_next_ops *next;
  int *err;                     /* set if the request fails */
  bool unproven;                /* content was served that was not verified:
                                 * zeros that were not read, or, with FAIL_WARN,
                                 * a block that differs; or the state of its
                                 * block was not set, because another read
                                 * overtook this one; cleared before each block
                                 * of which the request has only a part */
  unsigned unreadable;          /* number of unreadable blocks that were
                                 * repaired: a repair source had them, or they
                                 * must be zero */
  struct tally_read read;       /* while batch_read runs */
  bool stopped;                 /* the client or nbdkit is ending: read no more
                                 * sources for this request */
};

/* Read, verify and, if needed, repair BATCH, at most MAX_BATCH blocks.  Returns
 * 0, or -1 with *CHECK->err if the request fails.
 */
int batch_read (struct check *check, const struct compare_batch *batch);

#endif /* NBDKIT_BLKHASH_VERIFY_BATCH_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order to fill a leaf table, and what came of it.  A job makes one and
 * owns the table; a source carries it out.
 */

#ifndef BLKSUM_FILL_H
#define BLKSUM_FILL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct blkhash_leaves;

struct fill {
  /* Set once. */
  struct blkhash_leaves *leaves;
  size_t block_size;            /* of the table, bytes */
  uint64_t from, to;            /* bytes: what is missing in between is read */
  void (*progress) (void *opaque, uint64_t len); /* any thread */
  void *progress_opaque;

  pthread_mutex_t lock;         /* protects what follows */
  uint64_t hole;                /* bytes that were not read */
  struct error error;           /* the first of any thread; stops all */
};

/* To fill all of LEAVES, a table with blocks of BLOCK_SIZE bytes. */
void fill_init (struct fill *fill, struct blkhash_leaves *leaves,
                size_t block_size);
void fill_destroy (struct fill *fill);

/* Below, every call is thread-safe. */

/* LEN bytes were put into the table, and HOLE: without being read. */
void fill_advance (struct fill *fill, uint64_t len, bool hole);

/* It failed, for the reason in ERROR.  False if it had failed before. */
bool fill_fail (struct fill *fill, const struct error *error);
bool fill_has_failed (struct fill *fill);

/* A missing_function of the cursor; OPAQUE is a struct fill. */
int fill_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                     uint64_t *len, struct error *error);

#endif /* BLKSUM_FILL_H */

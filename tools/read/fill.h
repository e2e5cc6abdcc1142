/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The order to fill a leaf table, and what came of it.  A job makes one and
 * owns the table; a source carries it out.
 *
 * Without a table it is an order to look for data: what is read is not hashed,
 * and the first byte that is not zero ends it.
 */

#ifndef BLKSUM_FILL_H
#define BLKSUM_FILL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct blkhash_leaves;
struct progress;

struct fill {
  /* Set once. */
  struct blkhash_leaves *leaves; /* NULL: look for data */
  size_t block_size;            /* of the table, bytes */
  uint64_t from;                /* bytes: what is missing up to TO is read */
  const struct progress *progress; /* or NULL; any thread */
  /* The size of the table of an image of SIZE bytes, with zeros up to there,
   * when only its end told that; or NULL: the same.
   */
  uint64_t (*table_size) (void *opaque, uint64_t size);
  void *table_size_opaque;
  /* Is what is missing at OFFSET to be read?  Stores in *LEN how far this is
   * the same, bytes.  The rest counts as zero.  NULL: all is.  One thread at a
   * time.
   */
  bool (*wanted) (void *opaque, uint64_t offset, uint64_t *len);
  void *wanted_opaque;
  bool (*stopped) (void *opaque); /* does nobody want it any more?  Or NULL;
                                 * any thread */
  void *stopped_opaque;

  pthread_mutex_t lock;         /* protects what follows */
  uint64_t to;                  /* bytes; the first data that was found */
  uint64_t hole, read;          /* bytes that were not read, and were */
  struct error error;           /* the first of any thread; stops all */
};

/* To fill all of LEAVES, a table with blocks of BLOCK_SIZE bytes. */
void fill_init (struct fill *fill, struct blkhash_leaves *leaves,
                size_t block_size);

/* To look for data at FROM and behind it, where the image does not end.  Then
 * fill->to is where it is, or UINT64_MAX: there is none.
 */
void fill_init_search (struct fill *fill, uint64_t from);

void fill_destroy (struct fill *fill);

/* Below, every call is thread-safe. */

/* Put the LEN bytes of BUF, or zeros, at OFFSET of the image into the table, or
 * look at them.  0, or an errno value.
 */
int fill_data (struct fill *fill, const void *buf, size_t len,
               uint64_t offset);
int fill_zero (struct fill *fill, uint64_t len, uint64_t offset);

/* The image, whose size nobody knew, has SIZE bytes.  0, or an errno value. */
int fill_set_size (struct fill *fill, uint64_t size);

/* How many bytes to give fill_data at once; see blkhash_leaves_batch. */
size_t fill_batch (const struct fill *fill);

/* Is nothing wanted any more at OFFSET and behind it? */
bool fill_ends_before (struct fill *fill, uint64_t offset);

/* LEN bytes were put into the table, and HOLE: without being read. */
void fill_advance (struct fill *fill, uint64_t len, bool hole);

/* It failed, for the reason in ERROR.  False if it had failed before. */
bool fill_fail (struct fill *fill, const struct error *error);

/* Did it, or does nobody want it any more? */
bool fill_has_failed (struct fill *fill);

/* A missing_function of the cursor; OPAQUE is a struct fill. */
int fill_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                     uint64_t *len, struct error *error);

#endif /* BLKSUM_FILL_H */

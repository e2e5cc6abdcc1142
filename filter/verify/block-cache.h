/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks, so that small reads in one block do not
 * read and hash it again and again, also if they are in flight at the same
 * time.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H
#define NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/lru.h"

/* Waiting threads are woken for few blocks but theirs. */
#define BLOCK_CACHE_CONDS 16

/* A block that a thread loads, on its stack. */
struct block_load {
  struct block_load *next;
  uint64_t block, id;
};

struct block_cache {
  size_t block_size;
  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t ended[BLOCK_CACHE_CONDS]; /* loads, by their block */
  struct lru blocks;
  struct block_load *loads;
  uint64_t next_id;
};

/* 0, or -1: no memory. */
int block_cache_init (struct block_cache *cache, size_t block_size);
void block_cache_destroy (struct block_cache *cache);

/* If BLOCK is there, copy LEN bytes from SKIP on to BUF.  False: the caller
 * loads it, and then must call block_cache_end.  If another thread is loading
 * it, wait until that has ended.
 */
bool block_cache_begin (struct block_cache *cache, uint64_t block,
                        void *buf, size_t len, size_t skip,
                        struct block_load *load);

/* The block is the LEN BYTES, which were verified, and is kept if there is
 * memory.  NULL: there is nothing to keep.
 */
void block_cache_end (struct block_cache *cache, struct block_load *load,
                      const void *bytes, size_t len);

#endif /* NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H */

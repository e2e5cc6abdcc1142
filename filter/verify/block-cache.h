/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks, so that small reads in one block do not
 * read and hash it again and again.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H
#define NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/lru.h"

struct block_cache {
  pthread_mutex_t lock;
  size_t block_size;
  struct lru blocks;
};

/* 0, or -1: no memory. */
int block_cache_init (struct block_cache *cache, size_t block_size);
void block_cache_destroy (struct block_cache *cache);

/* If BLOCK is there, copy LEN bytes from SKIP on to BUF. */
bool block_cache_read (struct block_cache *cache, uint64_t block,
                       void *buf, size_t len, size_t skip);

/* Add the LEN bytes of BLOCK, which were verified.  Without memory it does
 * nothing.
 */
void block_cache_add (struct block_cache *cache, uint64_t block,
                      const void *bytes, size_t len);

#endif /* NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks, so that small reads in one block do not
 * read and hash it again and again, also if they are in flight at the same
 * time.  All disks share it, so that many of them do not need more memory.
 * Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H
#define NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/lru.h"

#define BLOCK_CACHE_SIZE (64 * 1024 * 1024) /* bytes; several blocks */
#define BLOCK_CACHE_ENTRIES 512 /* see lru.h */

/* Waiting threads are woken for few blocks but theirs. */
#define BLOCK_CACHE_CONDS 16

/* The number of a block in the cache: that of its disk, and these bits, more
 * than disk.c allows.
 */
#define BLOCK_CACHE_BLOCK_BITS 40

/* A block that a thread loads, on its stack. */
struct block_load {
  struct block_load *next;
  uint64_t number, id;
};

/* A disk, whose blocks are in the cache. */
struct block_cache {
  struct block_cache *next;
  uint64_t id;
  size_t block_size;
};

/* The cache, for block-cache.c and its tests only. */
extern struct cached_blocks {
  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t ended[BLOCK_CACHE_CONDS]; /* loads, by their block */
  struct lru lru;               /* of: */
  struct lru_entry entries[BLOCK_CACHE_ENTRIES];
  size_t sizes[BLOCK_CACHE_ENTRIES]; /* bytes of memory of each entry, */
  size_t size;                  /* and of all */
  struct block_cache *disks;
  struct block_load *loads;
  uint64_t next_id;
} cached_blocks;

/* Destroy does nothing if it is all zero, and was not initialized. */
void block_cache_init (struct block_cache *cache, size_t block_size);
void block_cache_destroy (struct block_cache *cache);

/* If BLOCK is there, copy LEN bytes from SKIP on to BUF.  False: the caller
 * loads it, and then must call block_cache_end.  If another thread is loading
 * it, wait until that has ended.
 */
bool block_cache_begin (const struct block_cache *cache, uint64_t block,
                        void *buf, size_t len, size_t skip,
                        struct block_load *load);

/* The block is the LEN BYTES, which were verified, and is kept if there is
 * memory.  NULL: there is nothing to keep.
 */
void block_cache_end (const struct block_cache *cache, struct block_load *load,
                      const void *bytes, size_t len);

#endif /* NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks, so that several small reads in one block
 * read and hash it only once, even if they are in flight at the same time.  All
 * disks share it, so that its memory does not grow with their number.
 * Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H
#define NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/common/lru.h"

#define BLOCK_CACHE_SIZE (64 * 1024 * 1024) /* bytes; 4 of the largest blocks */
#define BLOCK_CACHE_ENTRIES 512 /* a search visits all of them: see lru.h */

/* The number of condition variables.  Each block uses one of them, so that the
 * end of a load wakes few threads that wait for other blocks.
 */
#define BLOCK_CACHE_CONDS 16

/* The key of a block in the cache: its number in the disk in the lower bits,
 * and the number of the disk above them.  disk.c limits the number of blocks.
 */
#define BLOCK_CACHE_BLOCK_BITS 40

/* A load in progress, on the stack of its thread.  After block_cache_begin it
 * is protected by the lock of the cache.
 */
struct block_load {
  struct block_load *next;
  uint64_t number, id;          /* key of the block; ID of the load, not 0 */
};

/* A disk that uses the cache, struct cached_blocks. */
struct block_cache {
  struct block_cache *next;     /* protected by the lock of the cache */
  uint64_t id;                  /* number of the disk */
  size_t block_size;
};

/* The cache, for block-cache.c and its tests only. */
extern struct cached_blocks {
  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t ended[BLOCK_CACHE_CONDS]; /* a load ended; index: key of the
                                            * block % BLOCK_CACHE_CONDS */
  struct lru lru;               /* of the entries */
  struct lru_entry entries[BLOCK_CACHE_ENTRIES];
  size_t sizes[BLOCK_CACHE_ENTRIES]; /* memory of each entry, bytes */
  size_t size;                  /* memory of all entries, bytes */
  struct block_cache *disks;    /* sorted by id */
  struct block_load *loads;
  uint64_t last_id;             /* ID of the last load */
} cached_blocks;

/* block_cache_destroy does nothing if CACHE is all zero. */
void block_cache_init (struct block_cache *cache, size_t block_size);
void block_cache_destroy (struct block_cache *cache);

/* Remove all blocks of the disk. */
void block_cache_clear (const struct block_cache *cache);

/* If BLOCK is in the cache, copy LEN bytes, from its byte SKIP on, to BUF, and
 * return true.  If another thread is loading it, first wait for the end of that
 * load.  Returns false if the caller must load the block; then it must call
 * block_cache_end with LOAD, even if the load fails.
 */
bool block_cache_begin (const struct block_cache *cache, uint64_t block,
                        void *buf, size_t len, size_t skip,
                        struct block_load *load);

/* End LOAD.  BYTES is the verified content of the block, LEN bytes: add it to
 * the cache if there is memory.  If BYTES is NULL, add nothing.
 */
void block_cache_end (const struct block_cache *cache, struct block_load *load,
                      const void *bytes, size_t len);

#endif /* NBDKIT_BLKHASH_VERIFY_BLOCK_CACHE_H */

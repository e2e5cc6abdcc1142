/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks: the least recently used one is replaced.
 */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "verify/block-cache.h"

#define SIZE (32 * 1024 * 1024) /* bytes */
#define MIN_ENTRIES 2
#define MAX_ENTRIES 512         /* see lru.h */

int
block_cache_init (struct block_cache *cache, size_t block_size)
{
  size_t count = MIN (MAX (SIZE / block_size, MIN_ENTRIES), MAX_ENTRIES);

  *cache = (struct block_cache) {
    .block_size = block_size, .blocks.count = count
  };
  pthread_mutex_init (&cache->lock, NULL);
  cache->blocks.entries = calloc (count, sizeof *cache->blocks.entries);
  return cache->blocks.entries ? 0 : -1;
}

void
block_cache_destroy (struct block_cache *cache)
{
  size_t i;

  for (i = 0; cache->blocks.entries && i < cache->blocks.count; i++)
    free (cache->blocks.entries[i].bytes);
  free (cache->blocks.entries);
  pthread_mutex_destroy (&cache->lock);
}

bool
block_cache_read (struct block_cache *cache, uint64_t block,
                  void *buf, size_t len, size_t skip)
{
  SCOPED_LOCK (&cache->lock);
  struct lru_entry *entry = lru_find (&cache->blocks, block);

  if (!lru_has (entry, block))
    return false;
  memcpy (buf, entry->bytes + skip, len);
  lru_use (&cache->blocks, entry, block);
  return true;
}

void
block_cache_add (struct block_cache *cache, uint64_t block,
                 const void *bytes, size_t len)
{
  SCOPED_LOCK (&cache->lock);
  struct lru_entry *entry = lru_find (&cache->blocks, block);

  if (!entry->bytes)
    entry->bytes = malloc (cache->block_size);
  if (!entry->bytes)
    return;
  memcpy (entry->bytes, bytes, len);
  lru_use (&cache->blocks, entry, block);
}

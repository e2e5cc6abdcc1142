/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks: the least recently used one is replaced.
 *
 * Of the threads that need a block at the same time one loads it, and the
 * others wait: a read from a slow plugin costs much more than the wait.  If the
 * block is not in the cache then, because the load has failed, they do not wait
 * again: all of them load it at once, so that timeouts do not add up.  Nor do
 * they share the failure: by their connection the block can be another one.
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
  size_t count = MIN (MAX (SIZE / block_size, MIN_ENTRIES), MAX_ENTRIES), i;

  *cache = (struct block_cache) {
    .block_size = block_size, .blocks.count = count
  };
  pthread_mutex_init (&cache->lock, NULL);
  for (i = 0; i < BLOCK_CACHE_CONDS; i++)
    pthread_cond_init (&cache->ended[i], NULL);
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
  for (i = 0; i < BLOCK_CACHE_CONDS; i++)
    pthread_cond_destroy (&cache->ended[i]);
  pthread_mutex_destroy (&cache->lock);
}

static pthread_cond_t *
ended_cond (struct block_cache *cache, uint64_t block)
{
  return &cache->ended[block % BLOCK_CACHE_CONDS];
}

static bool
read_locked (struct block_cache *cache, uint64_t block, void *buf, size_t len,
             size_t skip)
{
  struct lru_entry *entry = lru_find (&cache->blocks, block);

  if (!lru_has (entry, block))
    return false;
  memcpy (buf, entry->bytes + skip, len);
  lru_use (&cache->blocks, entry, block);
  return true;
}

/* The ID of a load of BLOCK, or 0. */
static uint64_t
find_load_locked (const struct block_cache *cache, uint64_t block)
{
  const struct block_load *load = cache->loads;

  while (load && load->block != block)
    load = load->next;
  return load ? load->id : 0;
}

static bool
is_loading_locked (const struct block_cache *cache, uint64_t id)
{
  const struct block_load *load = cache->loads;

  while (load && load->id != id)
    load = load->next;
  return load;
}

bool
block_cache_begin (struct block_cache *cache, uint64_t block,
                   void *buf, size_t len, size_t skip,
                   struct block_load *load)
{
  SCOPED_LOCK (&cache->lock);
  uint64_t other;

  if (read_locked (cache, block, buf, len, skip))
    return true;
  other = find_load_locked (cache, block);
  while (is_loading_locked (cache, other))
    pthread_cond_wait (ended_cond (cache, block), &cache->lock);
  if (other && read_locked (cache, block, buf, len, skip))
    return true;
  *load = (struct block_load) { cache->loads, block, ++cache->next_id };
  cache->loads = load;
  return false;
}

/* Bytes are copied to those of the block that is replaced: to allocate and free
 * them again and again would cost more, by page faults.
 */
static void
add_locked (struct block_cache *cache, uint64_t block, const void *bytes,
            size_t len)
{
  struct lru_entry *entry = lru_find (&cache->blocks, block);

  if (!entry->bytes)
    entry->bytes = malloc (cache->block_size);
  if (!entry->bytes)
    return;
  memcpy (entry->bytes, bytes, len);
  lru_use (&cache->blocks, entry, block);
}

void
block_cache_end (struct block_cache *cache, struct block_load *load,
                 const void *bytes, size_t len)
{
  SCOPED_LOCK (&cache->lock);
  struct block_load **link = &cache->loads;

  while (*link != load)
    link = &(*link)->next;
  *link = load->next;
  pthread_cond_broadcast (ended_cond (cache, load->block));
  if (bytes)
    add_locked (cache, load->block, bytes, len);
}

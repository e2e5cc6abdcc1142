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
#define MAX_ENTRIES 512         /* all are searched for one */

int
block_cache_init (struct block_cache *cache, size_t block_size)
{
  size_t count = MIN (MAX (SIZE / block_size, MIN_ENTRIES), MAX_ENTRIES);

  *cache = (struct block_cache) { .block_size = block_size, .count = count };
  pthread_mutex_init (&cache->lock, NULL);
  cache->entries = calloc (count, sizeof *cache->entries);
  return cache->entries ? 0 : -1;
}

void
block_cache_destroy (struct block_cache *cache)
{
  size_t i;

  for (i = 0; cache->entries && i < cache->count; i++)
    free (cache->entries[i].bytes);
  free (cache->entries);
  pthread_mutex_destroy (&cache->lock);
}

/* The entry with the block, or else the one to replace. */
static struct block_cache_entry *
find_locked (struct block_cache *cache, uint64_t block)
{
  struct block_cache_entry *oldest = &cache->entries[0];
  size_t i;

  for (i = 0; i < cache->count; i++) {
    struct block_cache_entry *entry = &cache->entries[i];

    if (entry->used > 0 && entry->block == block)
      return entry;
    if (entry->used < oldest->used)
      oldest = entry;
  }
  return oldest;
}

bool
block_cache_read (struct block_cache *cache, uint64_t block,
                  void *buf, size_t len, size_t skip)
{
  SCOPED_LOCK (&cache->lock);
  struct block_cache_entry *entry = find_locked (cache, block);

  if (entry->used == 0 || entry->block != block)
    return false;
  memcpy (buf, (char *) entry->bytes + skip, len);
  entry->used = ++cache->clock;
  return true;
}

void
block_cache_add (struct block_cache *cache, uint64_t block,
                 const void *bytes, size_t len)
{
  SCOPED_LOCK (&cache->lock);
  struct block_cache_entry *entry = find_locked (cache, block);

  if (!entry->bytes)
    entry->bytes = malloc (cache->block_size);
  if (!entry->bytes)
    return;
  memcpy (entry->bytes, bytes, len);
  entry->block = block;
  entry->used = ++cache->clock;
}

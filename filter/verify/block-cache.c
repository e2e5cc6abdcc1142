/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A small cache of verified blocks of all disks, with LRU replacement.  The key
 * of a block consists of the number of its disk and its number in the disk.
 *
 * If several threads need a block at the same time, one of them loads it, and
 * the others wait.  A block is not added to the cache if its load failed, if it
 * was not verified, or if there is no memory.  Then the waiting threads do not
 * wait again: all of them load the block in parallel, so that timeouts do not
 * add up.  A failure of the first thread does not make the requests of the
 * others fail, because the plugin can return other content on their
 * connections.
 */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "verify/block-cache.h"

struct cached_blocks cached_blocks = {
  .lock = PTHREAD_MUTEX_INITIALIZER,
  .ended = { [0 ... BLOCK_CACHE_CONDS - 1] = PTHREAD_COND_INITIALIZER },
  .lru = { cached_blocks.entries, BLOCK_CACHE_ENTRIES, 0 },
};

static struct cached_blocks *const all = &cached_blocks;

static uint64_t
number_of (const struct block_cache *cache, uint64_t block)
{
  return cache->id << BLOCK_CACHE_BLOCK_BITS | block;
}

/* ---- Memory ---- */

static size_t *
size_of (const struct lru_entry *entry)
{
  return &all->sizes[entry - all->entries];
}

static void
free_entry_locked (struct lru_entry *entry)
{
  free (entry->bytes);
  *entry = (struct lru_entry) { .used = 0 };
  all->size -= *size_of (entry);
  *size_of (entry) = 0;
}

/* Returns the least recently used entry that has memory. */
static struct lru_entry *
oldest_locked (void)
{
  struct lru_entry *oldest = NULL;
  size_t i;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++)
    if (all->entries[i].bytes &&
        (!oldest || all->entries[i].used < oldest->used))
      oldest = &all->entries[i];
  return oldest;
}

/* Returns an entry with SIZE bytes of memory for block NUMBER, or NULL if there
 * is no memory.  If the entry of a replaced block has this size, its memory is
 * reused, because each new allocation costs page faults.
 */
static struct lru_entry *
allocate_locked (uint64_t number, size_t size)
{
  struct lru_entry *entry = lru_find (&all->lru, number);

  while (all->size - *size_of (entry) + size > BLOCK_CACHE_SIZE) {
    free_entry_locked (entry);
    entry = oldest_locked ();
  }
  if (*size_of (entry) == size)
    return entry;
  free_entry_locked (entry);
  entry->bytes = malloc (size);
  if (!entry->bytes)
    return NULL;
  *size_of (entry) = size;
  all->size += size;
  return entry;
}

/* ---- Disks ---- */

/* The disk gets the lowest free number.  The list is sorted by number. */
void
block_cache_init (struct block_cache *cache, size_t block_size)
{
  struct block_cache **link = &all->disks;
  SCOPED_LOCK (&all->lock);

  *cache = (struct block_cache) { .block_size = block_size };
  for (; *link && (*link)->id == cache->id; link = &(*link)->next)
    cache->id++;
  cache->next = *link;
  *link = cache;
}

static void
clear_locked (const struct block_cache *cache)
{
  size_t i;

  for (i = 0; i < BLOCK_CACHE_ENTRIES; i++)
    if (all->entries[i].number >> BLOCK_CACHE_BLOCK_BITS == cache->id)
      free_entry_locked (&all->entries[i]);
}

void
block_cache_clear (const struct block_cache *cache)
{
  SCOPED_LOCK (&all->lock);

  clear_locked (cache);
}

void
block_cache_destroy (struct block_cache *cache)
{
  struct block_cache **link = &all->disks;
  SCOPED_LOCK (&all->lock);

  while (*link && *link != cache)
    link = &(*link)->next;
  if (!*link)
    return;
  *link = cache->next;
  clear_locked (cache);
}

/* ---- Blocks ---- */

static pthread_cond_t *
ended_cond (uint64_t number)
{
  return &all->ended[number % BLOCK_CACHE_CONDS];
}

static bool
read_locked (uint64_t number, void *buf, size_t len, size_t skip)
{
  struct lru_entry *entry = lru_find (&all->lru, number);

  if (!lru_has (entry, number))
    return false;
  memcpy (buf, entry->bytes + skip, len);
  lru_use (&all->lru, entry, number);
  return true;
}

/* Returns the ID of a load of block NUMBER, or 0 if there is none. */
static uint64_t
find_load_locked (uint64_t number)
{
  const struct block_load *load = all->loads;

  while (load && load->number != number)
    load = load->next;
  return load ? load->id : 0;
}

static bool
is_loading_locked (uint64_t id)
{
  const struct block_load *load = all->loads;

  while (load && load->id != id)
    load = load->next;
  return load;
}

bool
block_cache_begin (const struct block_cache *cache, uint64_t block,
                   void *buf, size_t len, size_t skip,
                   struct block_load *load)
{
  uint64_t number = number_of (cache, block), other;
  SCOPED_LOCK (&all->lock);

  if (read_locked (number, buf, len, skip))
    return true;
  other = find_load_locked (number);
  while (is_loading_locked (other))
    pthread_cond_wait (ended_cond (number), &all->lock);
  if (other && read_locked (number, buf, len, skip))
    return true;
  *load = (struct block_load) { all->loads, number, ++all->last_id };
  all->loads = load;
  return false;
}

static void
add_locked (uint64_t number, const void *bytes, size_t len, size_t block_size)
{
  struct lru_entry *entry = allocate_locked (number, block_size);

  if (!entry)
    return;
  memcpy (entry->bytes, bytes, len);
  lru_use (&all->lru, entry, number);
}

void
block_cache_end (const struct block_cache *cache, struct block_load *load,
                 const void *bytes, size_t len)
{
  struct block_load **link = &all->loads;
  SCOPED_LOCK (&all->lock);

  while (*link != load)
    link = &(*link)->next;
  *link = load->next;
  pthread_cond_broadcast (ended_cond (load->number));
  if (bytes)
    add_locked (load->number, bytes, len, cache->block_size);
}

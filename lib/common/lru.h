/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The entries of a small cache with LRU replacement.  A search visits all
 * entries, so a cache should have at most a few hundred entries.
 *
 * Not thread-safe.
 */

#ifndef BLKHASH_LRU_H
#define BLKHASH_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lru_entry {
  uint64_t number;              /* key of the cached item */
  uint64_t used;                /* clock value of the last use; 0: never used */
  unsigned char *bytes;         /* owned by the caller, or NULL */
};

struct lru {
  struct lru_entry *entries;
  size_t count;
  uint64_t clock;               /* number of uses of all entries */
};

/* Returns the entry with NUMBER, or if there is none (see lru_has) the least
 * recently used entry, which the caller replaces.
 */
static inline struct lru_entry *
lru_find (const struct lru *lru, uint64_t number)
{
  struct lru_entry *oldest = &lru->entries[0];
  size_t i;

  for (i = 0; i < lru->count; i++) {
    struct lru_entry *entry = &lru->entries[i];

    if (entry->used > 0 && entry->number == number)
      return entry;
    if (entry->used < oldest->used)
      oldest = entry;
  }
  return oldest;
}

/* Returns true if ENTRY, from lru_find, is the entry with NUMBER. */
static inline bool
lru_has (const struct lru_entry *entry, uint64_t number)
{
  return entry->used > 0 && entry->number == number;
}

/* Set the number of ENTRY, and mark it as the most recently used. */
static inline void
lru_use (struct lru *lru, struct lru_entry *entry, uint64_t number)
{
  entry->number = number;
  entry->used = ++lru->clock;
}

#endif /* BLKHASH_LRU_H */

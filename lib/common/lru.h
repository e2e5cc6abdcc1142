/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The entries of a small cache, of which the least recently used is replaced.
 * All of them are searched, so there should be some hundred at most.
 *
 * Not thread-safe.
 */

#ifndef BLKHASH_LRU_H
#define BLKHASH_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lru_entry {
  uint64_t number;              /* what it has */
  uint64_t used;                /* when, by the clock of the cache; 0: never */
  unsigned char *bytes;         /* the caller's, or NULL */
};

struct lru {
  struct lru_entry *entries;
  size_t count;
  uint64_t clock;               /* how often an entry was used */
};

/* Returns the entry with NUMBER, or else the one to replace. */
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

static inline bool
lru_has (const struct lru_entry *entry, uint64_t number)
{
  return entry->used > 0 && entry->number == number;
}

/* ENTRY has NUMBER, and is used now. */
static inline void
lru_use (struct lru *lru, struct lru_entry *entry, uint64_t number)
{
  entry->number = number;
  entry->used = ++lru->clock;
}

#endif /* BLKHASH_LRU_H */

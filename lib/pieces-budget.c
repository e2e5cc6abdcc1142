/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, within a bound.
 *
 * Large chunks are mapped one by one.  Small ones are cut from slabs and kept
 * for the next that wants one: what is in a slab counts, used or not.
 */

#include <config.h>

#include <errno.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "pieces-budget.h"

#define SLAB (1024 * 1024)      /* bytes */
#define ALIGN 16

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

struct spare {
  struct spare *next;
};

struct slab {
  struct slab *next;
  size_t ignored;               /* so that chunks are aligned */
};

static size_t
round_up (size_t n)
{
  return (n + ALIGN - 1) & ~(size_t) (ALIGN - 1);
}

static void *
map (size_t size)
{
  void *p = mmap (NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

void
budget_init (struct pieces_budget *budget, size_t bound)
{
  *budget = (struct pieces_budget) { .bound = bound };
  pthread_mutex_init (&budget->users_lock, NULL);
  pthread_mutex_init (&budget->lock, NULL);
  pthread_cond_init (&budget->has_freed, NULL);
}

void
budget_destroy (struct pieces_budget *budget)
{
  pthread_cond_destroy (&budget->has_freed);
  pthread_mutex_destroy (&budget->lock);
  pthread_mutex_destroy (&budget->users_lock);
}

void
budget_enter (struct pieces_budget *budget)
{
  SCOPED_LOCK (&budget->lock);

  budget->tables++;
}

/* None of their chunks is in use. */
static void
unmap_slabs_locked (struct pieces_budget *budget)
{
  struct slab *slab;

  while ((slab = budget->slabs)) {
    budget->slabs = slab->next;
    munmap (slab, SLAB);
    budget->used -= SLAB;
  }
  budget->nr_slabs = 0;
  budget->spare = NULL;
}

void
budget_leave (struct pieces_budget *budget)
{
  SCOPED_LOCK (&budget->lock);

  if (--budget->tables == 0) {
    unmap_slabs_locked (budget);
    budget->slab_chunk = 0;
  }
}

/* Cut a new slab into spare chunks. */
static bool
add_slab_locked (struct pieces_budget *budget)
{
  struct slab *slab = map (SLAB);
  size_t chunk = budget->slab_chunk, at;

  if (!slab)
    return false;
  slab->next = budget->slabs;
  budget->slabs = slab;
  budget->nr_slabs++;
  budget->used += SLAB;
  for (at = sizeof *slab; at + chunk <= SLAB; at += chunk) {
    struct spare *spare = (void *) ((unsigned char *) slab + at);

    spare->next = budget->spare;
    budget->spare = spare;
  }
  return true;
}

/* All small chunks that are cut from slabs are of one size. */
static bool
is_from_slab (const struct pieces_budget *budget, size_t size)
{
  return round_up (size) == budget->slab_chunk;
}

void *
budget_get (struct pieces_budget *budget, size_t size, size_t overhead,
            bool *zero, uint64_t *seen)
{
  size_t need = overhead;
  struct spare *chunk;
  SCOPED_LOCK (&budget->lock);

  if (budget->slab_chunk == 0 && size <= SLAB / 4)
    budget->slab_chunk = round_up (size);
  *zero = !is_from_slab (budget, size);
  if (*zero)
    need += size;
  else if (!budget->spare)
    need += SLAB;
  if (budget->used + need > budget->bound) {
    *seen = budget->freed;
    errno = ENOBUFS;
    return NULL;
  }
  if (*zero)
    chunk = map (size);
  else {
    chunk = budget->spare || add_slab_locked (budget) ? budget->spare : NULL;
    if (chunk) {
      budget->spare = chunk->next;
      budget->handed++;
    }
  }
  if (!chunk) {
    errno = ENOMEM;
    return NULL;
  }
  budget->used += overhead + (*zero ? size : 0);
  return chunk;
}

void
budget_put (struct pieces_budget *budget, void *chunk, size_t size,
            size_t overhead)
{
  SCOPED_LOCK (&budget->lock);

  budget->used -= overhead;
  if (is_from_slab (budget, size)) {
    struct spare *spare = chunk;

    spare->next = budget->spare;
    budget->spare = spare;
    /* One is kept for the next block. */
    if (--budget->handed == 0 && budget->nr_slabs > 1)
      unmap_slabs_locked (budget);
  }
  else {
    munmap (chunk, size);
    budget->used -= size;
  }
  budget->freed++;
  if (budget->busy > 0)
    pthread_cond_broadcast (&budget->has_freed);
}

void
budget_busy (struct pieces_budget *budget, bool begins)
{
  SCOPED_LOCK (&budget->lock);

  if (begins)
    budget->busy++;
  else if (--budget->busy == 0)
    pthread_cond_broadcast (&budget->has_freed);
}

bool
budget_wait (struct pieces_budget *budget, uint64_t seen)
{
  SCOPED_LOCK (&budget->lock);

  while (budget->freed == seen && budget->busy > 0)
    pthread_cond_wait (&budget->has_freed, &budget->lock);
  return budget->freed != seen;
}

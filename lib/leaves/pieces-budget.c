/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, within a bound.
 *
 * Large chunks are mapped one by one, and a few are kept.  Small ones are cut
 * from slabs and all kept.  What is kept for the next that wants one counts.
 */

#include <config.h>

#include <errno.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "leaves/pieces-budget.h"

#define SLAB (1024 * 1024)      /* bytes */
#define KEEP (8 * 1024 * 1024)  /* bytes in large chunks, or one */
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

static void
unmap_large_locked (struct pieces_budget *budget)
{
  struct spare *spare;

  while ((spare = budget->large)) {
    budget->large = spare->next;
    munmap (spare, budget->large_size);
  }
  budget->used -= budget->large_kept;
  budget->large_kept = 0;
}

/* Is it kept? */
static bool
keep_large_locked (struct pieces_budget *budget, struct spare *chunk,
                   size_t size)
{
  if (budget->large && (size != budget->large_size ||
                        budget->large_kept + size > KEEP))
    return false;
  chunk->next = budget->large;
  budget->large = chunk;
  budget->large_size = size;
  budget->large_kept += size;
  return true;
}

static void *
take_large_locked (struct pieces_budget *budget, size_t size)
{
  struct spare *chunk = budget->large;

  if (!chunk || size != budget->large_size)
    return NULL;
  budget->large = chunk->next;
  budget->large_kept -= size;
  return chunk;
}

void
budget_leave (struct pieces_budget *budget)
{
  SCOPED_LOCK (&budget->lock);

  if (--budget->tables == 0) {
    unmap_large_locked (budget);
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

/* Is there room for that much? */
static bool
make_room_locked (struct pieces_budget *budget, size_t size)
{
  if (budget->used + size > budget->bound)
    unmap_large_locked (budget);
  return budget->used + size <= budget->bound;
}

/* A chunk of a slab.  As budget_get. */
static void *
get_small_locked (struct pieces_budget *budget, size_t overhead)
{
  struct spare *chunk;

  if (!make_room_locked (budget, overhead + (budget->spare ? 0 : SLAB))) {
    errno = ENOBUFS;
    return NULL;
  }
  if (!budget->spare && !add_slab_locked (budget)) {
    errno = ENOMEM;
    return NULL;
  }
  chunk = budget->spare;
  budget->spare = chunk->next;
  budget->handed++;
  budget->used += overhead;
  return chunk;
}

static void *
get_large_locked (struct pieces_budget *budget, size_t size, size_t overhead,
                  bool *zero)
{
  void *chunk = *zero ? NULL : take_large_locked (budget, size);

  if (chunk) {
    budget->used += overhead;
    return chunk;
  }
  *zero = true;
  if (!make_room_locked (budget, size + overhead)) {
    errno = ENOBUFS;
    return NULL;
  }
  chunk = map (size);
  if (!chunk) {
    errno = ENOMEM;
    return NULL;
  }
  budget->used += size + overhead;
  return chunk;
}

void *
budget_get (struct pieces_budget *budget, size_t size, size_t overhead,
            bool *zero, uint64_t *seen)
{
  SCOPED_LOCK (&budget->lock);

  *seen = budget->freed;
  if (budget->slab_chunk == 0 && size <= SLAB / 4)
    budget->slab_chunk = round_up (size);
  if (!is_from_slab (budget, size))
    return get_large_locked (budget, size, overhead, zero);
  *zero = false;
  return get_small_locked (budget, overhead);
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
  else if (!keep_large_locked (budget, chunk, size)) {
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

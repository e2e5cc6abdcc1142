/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, within a bound.
 *
 * The first allocation maps as many bytes as the bound, and chunks are cut from
 * this mapping in order, so pages that no chunk has used take no memory.  Free
 * chunks are kept for the next allocation, and count as used memory, until no
 * chunk is in use.  At that point cutting restarts at the beginning of the
 * mapping, and most pages are returned to the operating system.
 *
 * malloc was rejected, because it keeps freed memory in an arena for each
 * thread: when several threads, one after the other, filled a bound of 64 MiB
 * and freed all of it, 911 MiB remained resident.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "leaves/pieces-budget.h"

#define KEEP (8 * 1024 * 1024)  /* bytes whose pages are kept when no chunk is
                                 * in use, unless a chunk is larger */
#define MAX_PAGE 65536          /* bytes; a multiple of any page size */

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

struct spare {
  struct spare *next;
};

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
budget_add_table (struct pieces_budget *budget, size_t chunk)
{
  SCOPED_LOCK (&budget->lock);

  assert (budget->tables == 0 || chunk == budget->chunk);
  budget->chunk = chunk;
  budget->tables++;
}

static void *
map (void *at, size_t size)
{
  return mmap (at, size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static void
unmap_locked (struct pieces_budget *budget)
{
  if (budget->base)
    munmap (budget->base, budget->bound);
  budget->base = NULL;
  budget->dirty = 0;
}

/* No chunk is in use: restart cutting, and return pages beyond KEEP. */
static void
reset_locked (struct pieces_budget *budget)
{
  const size_t keep =
    ((budget->chunk > KEEP ? budget->chunk : KEEP) | (MAX_PAGE - 1)) + 1;

  budget->used -= budget->cut;
  budget->cut = 0;
  budget->spare = NULL;
  if (budget->dirty <= keep)
    return;
  budget->dirty = keep;
  if (map (budget->base + keep, budget->bound - keep) == MAP_FAILED)
    unmap_locked (budget);
}

void
budget_remove_table (struct pieces_budget *budget)
{
  SCOPED_LOCK (&budget->lock);

  if (--budget->tables == 0)
    unmap_locked (budget);
}

static void *
cut_chunk_locked (struct pieces_budget *budget, bool *zero)
{
  void *chunk;

  if (!budget->base) {
    void *base = map (NULL, budget->bound);

    if (base == MAP_FAILED) {
      errno = ENOMEM;
      return NULL;
    }
    budget->base = base;
  }
  chunk = budget->base + budget->cut;
  *zero = budget->cut >= budget->dirty;
  budget->cut += budget->chunk;
  if (budget->dirty < budget->cut)
    budget->dirty = budget->cut;
  budget->used += budget->chunk;
  return chunk;
}

void *
budget_get (struct pieces_budget *budget, size_t overhead, bool *zero,
            uint64_t *seen)
{
  SCOPED_LOCK (&budget->lock);
  struct spare *spare = budget->spare;
  size_t room = budget->bound - budget->used;
  void *chunk = spare;

  *seen = budget->freed;
  if ((*zero || !spare) && room >= budget->chunk + overhead)
    chunk = cut_chunk_locked (budget, zero);
  else if (spare && room >= overhead) {
    budget->spare = spare->next;
    *zero = false;
  }
  else {
    errno = ENOBUFS;
    return NULL;
  }
  if (chunk) {
    budget->chunks_in_use++;
    budget->used += overhead;
  }
  return chunk;
}

void
budget_put (struct pieces_budget *budget, void *chunk, size_t overhead)
{
  SCOPED_LOCK (&budget->lock);
  struct spare *spare = chunk;

  spare->next = budget->spare;
  budget->spare = spare;
  budget->used -= overhead;
  budget->freed++;
  if (--budget->chunks_in_use == 0)
    reset_locked (budget);
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

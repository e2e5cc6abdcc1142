/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of each block of a disk.
 *
 * The states are in pages, which are allocated when a block in them is read.
 */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "verify/tally.h"

#define PAGE 16384              /* bytes */
#define PAGE_BLOCKS (4 * PAGE)

int
tally_init (struct tally *tally, uint64_t blocks)
{
  *tally = (struct tally) { .blocks = blocks };
  pthread_mutex_init (&tally->lock, NULL);
  tally->counts[BLOCK_NOT_READ] = blocks;
  tally->pages = calloc (blocks / PAGE_BLOCKS + 1, sizeof *tally->pages);
  return tally->pages ? 0 : -1;
}

void
tally_destroy (struct tally *tally)
{
  uint64_t i;

  for (i = 0; tally->pages && i <= tally->blocks / PAGE_BLOCKS; i++)
    free (tally->pages[i]);
  free (tally->pages);
  pthread_mutex_destroy (&tally->lock);
}

enum block_state
tally_set (struct tally *tally, uint64_t block, enum block_state state)
{
  SCOPED_LOCK (&tally->lock);
  unsigned char **page = &tally->pages[block / PAGE_BLOCKS];
  unsigned shift = block % 4 * 2;
  unsigned char *byte;
  enum block_state old;

  if (!*page)
    *page = calloc (1, PAGE);
  if (!*page)
    return BLOCK_NOT_READ;
  byte = &(*page)[block % PAGE_BLOCKS / 4];
  old = *byte >> shift & 3;
  *byte = (*byte & ~(3 << shift)) | state << shift;
  tally->counts[old]--;
  tally->counts[state]++;
  return old;
}

void
tally_add_transient (struct tally *tally)
{
  SCOPED_LOCK (&tally->lock);

  tally->transient++;
}

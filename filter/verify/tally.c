/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of each block of a disk.  See tally.h.
 */

#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "verify/tally.h"

#define PAGE 16384              /* bytes */
#define PAGE_BLOCKS (UINT64_C (2) * PAGE)
#define TWO 0x11                /* TWO * state: two blocks in that state */

static uint64_t findings;       /* atomic */

static const unsigned char zeros_page[PAGE] = {
  [0 ... PAGE - 1] = BLOCK_OK * TWO
};

int
tally_init (struct tally *tally, uint64_t blocks)
{
  *tally = (struct tally) { .blocks = blocks };
  pthread_mutex_init (&tally->lock, NULL);
  tally->counts[BLOCK_MISSING] = blocks;
  tally->pages = calloc (blocks / PAGE_BLOCKS + 1, sizeof *tally->pages);
  return tally->pages ? 0 : -1;
}

/* Afterwards all blocks are BLOCK_MISSING. */
static void
free_pages (struct tally *tally)
{
  uint64_t i;

  for (i = 0; tally->pages && i <= tally->blocks / PAGE_BLOCKS; i++) {
    if (tally->pages[i] != zeros_page)
      free (tally->pages[i]);
    tally->pages[i] = NULL;
  }
}

void
tally_destroy (struct tally *tally)
{
  free_pages (tally);
  free (tally->pages);
  pthread_mutex_destroy (&tally->lock);
}

void
tally_move (struct tally *to, struct tally *from)
{
  SCOPED_LOCK (&to->lock);

  free_pages (to);
  free (to->pages);
  memcpy (to->counts, from->counts, sizeof to->counts);
  to->transient = from->transient;
  to->changes = from->changes;
  to->pages = from->pages;
  from->pages = NULL;
}

static unsigned
shift_of (uint64_t block)
{
  return block % 2 * 4;
}

static enum block_state
get_state (const unsigned char *page, uint64_t block)
{
  return page ? page[block % PAGE_BLOCKS / 2] >> shift_of (block) & 15
              : BLOCK_MISSING;
}

/* Returns the byte with the state of BLOCK, which the caller may modify, or
 * NULL if there is no memory.
 */
static unsigned char *
get_byte_locked (struct tally *tally, uint64_t block)
{
  unsigned char **page = &tally->pages[block / PAGE_BLOCKS];

  if (!*page || *page == zeros_page) {
    unsigned char *own = calloc (1, PAGE);

    if (!own)
      return NULL;
    if (*page)
      memcpy (own, zeros_page, PAGE);
    *page = own;
  }
  return *page + block % PAGE_BLOCKS / 2;
}

/* ---- States ---- */

/* READ, which causes the reset, has read its blocks after the disk changed, but
 * if it has read one of them again, not those that follow.
 */
static void
reset_locked (struct tally *tally, const struct tally_read *read)
{
  struct tally_read *other;

  for (other = tally->reads; other; other = other->next)
    other->has_reset |= other != read || read->has_retried;
  free_pages (tally);
  tally->changes += tally->counts[BLOCK_MISSING] != tally->blocks ||
    tally->transient > 0;
  memset (tally->counts, 0, sizeof tally->counts);
  tally->counts[BLOCK_MISSING] = tally->blocks;
  tally->transient = 0;
}

void
tally_reset (struct tally *tally)
{
  SCOPED_LOCK (&tally->lock);

  reset_locked (tally, NULL);
}

void
tally_begin_read (struct tally *tally, struct tally_read *read,
                  uint64_t first, uint64_t count)
{
  SCOPED_LOCK (&tally->lock);

  *read = (struct tally_read) {
    .next = tally->reads, .first = first, .end = first + count
  };
  tally->reads = read;
}

void
tally_end_read (struct tally *tally, struct tally_read *read)
{
  struct tally_read **link = &tally->reads;
  SCOPED_LOCK (&tally->lock);

  while (*link != read)
    link = &(*link)->next;
  *link = read->next;
}

static void
set_failure_locked (struct tally *tally, const struct tally_read *read,
                    uint64_t block)
{
  struct tally_read *other;

  for (other = tally->reads; other; other = other->next)
    other->has_failure |=
      other != read && block >= other->first && block < other->end;
}

static bool
differs (enum block_state state)
{
  return state == BLOCK_DIFFERS || state == BLOCK_REPAIRED;
}

/* Returns the old state.  BYTE is get_byte_locked of BLOCK. */
static enum block_state
set_state_locked (struct tally *tally, unsigned char *byte, uint64_t block,
                  enum block_state state)
{
  enum block_state old = get_state (tally->pages[block / PAGE_BLOCKS], block);

  *byte = (*byte & ~(15 << shift_of (block))) | state << shift_of (block);
  tally->counts[old]--;
  tally->counts[state]++;
  tally->changes += old != state;
  if (old != state && state != BLOCK_OK)
    __atomic_fetch_add (&findings, 1, __ATOMIC_RELAXED);
  return old;
}

enum block_state
tally_set (struct tally *tally, const struct tally_read *read, uint64_t block,
           enum block_state state, bool *reset)
{
  SCOPED_LOCK (&tally->lock);
  enum block_state old = get_state (tally->pages[block / PAGE_BLOCKS], block);
  unsigned char *byte;

  *reset = false;
  if (state != BLOCK_OK)
    set_failure_locked (tally, read, block);
  else if (old == BLOCK_MISSING ? read->has_reset
                                : old != BLOCK_OK && read->has_failure)
    return old;
  *reset = (old == BLOCK_OK && differs (state)) ||
    (differs (old) && state == BLOCK_OK);
  if (*reset)
    reset_locked (tally, read);
  byte = get_byte_locked (tally, block);
  if (!byte)
    return BLOCK_MISSING;
  set_state_locked (tally, byte, block, state);
  return old;
}

void
tally_add_transient (struct tally *tally)
{
  SCOPED_LOCK (&tally->lock);

  tally->transient++;
  tally->changes++;
}

uint64_t
tally_findings (void)
{
  return __atomic_load_n (&findings, __ATOMIC_RELAXED);
}

/* ---- Zeros ---- */

/* Returns how many blocks were set: all of a page, or one; 0 if there is no
 * memory.
 */
static uint64_t
set_zeros_locked (struct tally *tally, uint64_t first, uint64_t count)
{
  unsigned char **page = &tally->pages[first / PAGE_BLOCKS];
  uint64_t all = MIN (tally->blocks - first, PAGE_BLOCKS);
  unsigned char *byte;

  if (first % PAGE_BLOCKS == 0 && count >= all && !*page) {
    *page = (unsigned char *) zeros_page; /* see get_byte_locked */
    tally->counts[BLOCK_MISSING] -= all;
    tally->counts[BLOCK_OK] += all;
    tally->changes++;
    return all;
  }
  byte = get_byte_locked (tally, first);
  if (byte && get_state (*page, first) == BLOCK_MISSING)
    set_state_locked (tally, byte, first, BLOCK_OK);
  return byte ? 1 : 0;
}

int
tally_set_zeros (struct tally *tally, uint64_t first, uint64_t count)
{
  SCOPED_LOCK (&tally->lock);

  while (count > 0) {
    uint64_t n = set_zeros_locked (tally, first, count);

    if (n == 0)
      return -1;
    first += n;
    count -= n;
  }
  return 0;
}

/* ---- Reading the states ---- */

void
tally_get_counts (struct tally *tally, struct tally_counts *counts)
{
  SCOPED_LOCK (&tally->lock);
  uint64_t last = tally->blocks - 1;

  memcpy (counts->blocks, tally->counts, sizeof counts->blocks);
  counts->transient = tally->transient;
  counts->last = tally->blocks == 0
    ? BLOCK_MISSING : get_state (tally->pages[last / PAGE_BLOCKS], last);
}

uint64_t
tally_get_changes (struct tally *tally)
{
  SCOPED_LOCK (&tally->lock);

  return tally->changes;
}

/* Returns the first block after FIRST in PAGE that has another state, or END,
 * the end of the page.
 */
static uint64_t
find_end (const unsigned char *page, uint64_t first, uint64_t end)
{
  enum block_state state = get_state (page, first);
  uint64_t block = first + 1;

  if (!page || page == zeros_page)
    return end;
  while (block < end && get_state (page, block) == state)
    if (block % 2 == 0 && block + 2 <= end &&
        page[block % PAGE_BLOCKS / 2] == state * TWO)
      block += 2;
    else
      block++;
  return block;
}

/* The lock is released after each page, so that requests do not wait for long.
 * Between two pages, requests can change any state.
 */
uint64_t
tally_get_run (struct tally *tally, uint64_t first, enum block_state *state)
{
  uint64_t block = first;

  while (block < tally->blocks) {
    uint64_t end = MIN (tally->blocks,
                        ROUND_DOWN (block, PAGE_BLOCKS) + PAGE_BLOCKS);
    SCOPED_LOCK (&tally->lock);
    const unsigned char *page = tally->pages[block / PAGE_BLOCKS];

    if (block == first)
      *state = get_state (page, block);
    else if (get_state (page, block) != *state)
      break;
    block = find_end (page, block, end);
    if (block < end)
      break;
  }
  return block - first;
}

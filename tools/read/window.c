/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The window limits how far ranges may be ahead of the first range that is not
 * hashed, measured by the memory for their leaves.
 */

#include <config.h>

#include "read/window.h"
#include "util/extent.h"

#define SIZE UINT64_C (6 * 1024 * 1024) /* bytes of memory for leaves */
#define LEAF_COST 80            /* bytes: the longest leaf, and its share of a
                                 * node of the leaf table's tree */
#define RANGE_COST 4096         /* bytes: nodes of the tree without leaves */

void
window_init (struct window *window, uint64_t block_size)
{
  *window = (struct window) { .block_size = block_size };
}

uint64_t
window_max_range (const struct window *window, unsigned count)
{
  uint64_t blocks = SIZE / LEAF_COST / count;

  return (blocks > 0 ? blocks : 1) * window->block_size;
}

bool
window_is_open (const struct window *window)
{
  return !window->first || window->taken - window->first->start < SIZE;
}

void
window_take (struct window *window, struct window_item *item,
             const struct range *range)
{
  item->offset = range->offset;
  item->start = window->taken;
  item->prev = window->last;
  item->next = NULL;
  if (window->last)
    window->last->next = item;
  else
    window->first = item;
  window->last = item;

  window->taken += RANGE_COST;
  if (!range->zero)
    window->taken += range->len / window->block_size * LEAF_COST;
}

void
window_move (struct window *window, struct window_item *from,
             struct window_item *to)
{
  *to = *from;
  *(to->prev ? &to->prev->next : &window->first) = to;
  *(to->next ? &to->next->prev : &window->last) = to;
}

void
window_done (struct window *window, struct window_item *item)
{
  *(item->prev ? &item->prev->next : &window->first) = item->next;
  *(item->next ? &item->next->prev : &window->last) = item->prev;
}

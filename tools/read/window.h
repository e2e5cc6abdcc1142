/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The window limits how far ranges may be ahead of the first range that is not
 * hashed, because leaves are folded (added to the outer hash) in order: those
 * of the ranges ahead are kept in memory until the first range is hashed.
 *
 * The window counts the memory for leaves.  So a hole of any length counts no
 * more than a range of one block, and small blocks count more than large blocks
 * for the same data.  Not thread-safe: the caller holds a lock.
 */

#ifndef BLKSUM_WINDOW_H
#define BLKSUM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range;

/* A range that was taken and is not hashed yet. */
struct window_item {
  uint64_t offset;              /* offset of the range, bytes */
  uint64_t start;               /* value of TAKEN before this range */
  struct window_item *prev, *next;
};

struct window {
  uint64_t block_size;          /* bytes */
  uint64_t taken;               /* bytes of memory of all ranges that were ever
                                 * taken */
  struct window_item *first, *last; /* in the order of the image */
};

void window_init (struct window *window, uint64_t block_size);

/* Returns the maximum length of a range, in bytes, with which the window allows
 * COUNT ranges in flight, or somewhat fewer if COUNT is large: the nodes of the
 * ranges (see RANGE_COST in window.c) are not considered.
 */
uint64_t window_max_range (const struct window *window, unsigned count);

/* Returns true if a range may be taken now.  Always true if all taken ranges
 * are hashed.
 */
bool window_is_open (const struct window *window);

/* Take RANGE, which is after all ranges that were taken before.  ITEM is in use
 * until window_done.
 */
void window_take (struct window *window, struct window_item *item,
                  const struct range *range);

/* Move the range of FROM to TO.  Then TO is in use, and FROM is free. */
void window_move (struct window *window, struct window_item *from,
                  struct window_item *to);

/* Remove ITEM, whose range is hashed. */
void window_done (struct window *window, struct window_item *item);

#endif /* BLKSUM_WINDOW_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far ranges that were hashed may be ahead of the first that was not: their
 * leaves wait in memory.
 *
 * It counts what they take, so a hole is as short as a block, and blocks of 4
 * bytes are long.  One thread at a time: its user holds a lock.
 */

#ifndef BLKSUM_WINDOW_H
#define BLKSUM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct range;

/* A range that was taken and is not hashed yet. */
struct window_item {
  uint64_t start;               /* bytes of memory before it */
  struct window_item *prev, *next;
};

struct window {
  uint64_t block_size;          /* bytes */
  uint64_t taken;               /* bytes of memory of all ranges so far */
  struct window_item *first, *last; /* in the order of the image */
};

void window_init (struct window *window, uint64_t block_size);

/* The longest range to take, in bytes, so that COUNT of them are in flight. */
uint64_t window_max_range (const struct window *window, unsigned count);

/* May a range be taken now?  Always if none is taken that is not hashed. */
bool window_is_open (const struct window *window);

/* RANGE, behind all others, is taken; ITEM is in use until window_done. */
void window_take (struct window *window, struct window_item *item,
                  const struct range *range);

/* TO is in use from now on, instead of FROM. */
void window_move (struct window *window, struct window_item *from,
                  struct window_item *to);

/* It is hashed. */
void window_done (struct window *window, struct window_item *item);

#endif /* BLKSUM_WINDOW_H */

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Work on many items at once, results in order.
 */

#ifndef BLKSUM_IN_ORDER_H
#define BLKSUM_IN_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#define IN_ORDER_MAX 16         /* items in flight */

struct in_order {
  size_t count;                 /* of items, numbered from 0 */
  /* Do item I, with its result in SLOT, which no other item in flight has:
   * 0 <= SLOT < IN_ORDER_MAX.  False: it is to be done alone.  Any thread.
   */
  bool (*work) (void *opaque, size_t i, unsigned slot);
  /* The same, when all threads have ended: no other item is worked on.  The
   * thread that called in_order_run.
   */
  void (*work_alone) (void *opaque, size_t i, unsigned slot);
  /* Item I is done, and so are those before it.  Called in order, by the thread
   * that called in_order_run.  False: no more items are wanted.
   */
  bool (*deliver) (void *opaque, size_t i, unsigned slot);
  void *opaque;
};

/* Returns true when all items were delivered; or false when DELIVER returned
 * that, and the items that were in flight are done.
 */
bool in_order_run (const struct in_order *in_order);

#endif /* BLKSUM_IN_ORDER_H */

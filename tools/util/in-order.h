/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Process many items in parallel, and deliver their results in order.
 */

#ifndef BLKSUM_IN_ORDER_H
#define BLKSUM_IN_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#define IN_ORDER_MAX 16         /* maximum number of items in flight */

struct in_order {
  size_t count;                 /* number of items */
  /* Process item I, and store the result in slot SLOT, which is less than
   * IN_ORDER_MAX and not used by another item in flight.  Returns false if the
   * item must be processed alone.  Called by any thread.
   */
  bool (*work) (void *opaque, size_t i, unsigned slot);
  /* Process item I while no other item is processed.  Called by the thread that
   * called in_order_run, after all other threads have ended.
   */
  void (*work_alone) (void *opaque, size_t i, unsigned slot);
  /* Deliver the result of item I.  Called in the order of the items, by the
   * thread that called in_order_run.  Returns false to stop.
   */
  bool (*deliver) (void *opaque, size_t i, unsigned slot);
  void *opaque;
};

/* Process all items.  Returns true after all results were delivered.  If
 * DELIVER returns false, returns false after the items in flight have ended.
 */
bool in_order_run (const struct in_order *in_order);

#endif /* BLKSUM_IN_ORDER_H */

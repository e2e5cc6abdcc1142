/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Process many items in parallel, and deliver their results in order.
 *
 * Threads take the items in order.  An item is in flight from when a thread
 * takes it until its result is delivered, and owns a slot during that time.
 * Item I has slot I % IN_ORDER_MAX, so a thread waits before it takes an item
 * whose slot is still used by item I - IN_ORDER_MAX.  So one slow item delays
 * the items after it only when all slots are used.
 *
 * WORK can require that its item is processed alone.  Then the threads finish
 * the items that they have taken, and end, and the calling thread processes the
 * item.  New threads start when all items that were taken are delivered.
 *
 * There are no errors: the failure of an item is a result like any other, and
 * if no thread can be created, items are processed alone.
 */

#include <config.h>

#include <pthread.h>
#include <stdbool.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "util/in-order.h"

enum item { PENDING, DONE, ALONE };

struct state {
  const struct in_order *in_order;
  pthread_t threads[IN_ORDER_MAX];
  unsigned nr_threads;

  pthread_mutex_t lock;         /* protects the fields below, while there are
                                 * threads */
  pthread_cond_t changed;
  size_t taken, delivered;      /* number of items */
  bool stopped;                 /* no more items are taken */
  enum item items[IN_ORDER_MAX]; /* states, by slot */
};

/* Wait for a slot, and take the next item.  Returns false if no item is left,
 * or if the threads must end.
 */
static bool
take (struct state *state, size_t *i)
{
  SCOPED_LOCK (&state->lock);

  while (!state->stopped && state->taken < state->in_order->count &&
         state->taken - state->delivered >= IN_ORDER_MAX)
    pthread_cond_wait (&state->changed, &state->lock);
  if (state->stopped || state->taken == state->in_order->count)
    return false;
  *i = state->taken++;
  return true;
}

static void
set_item (struct state *state, size_t i, enum item item)
{
  SCOPED_LOCK (&state->lock);

  state->items[i % IN_ORDER_MAX] = item;
  pthread_cond_broadcast (&state->changed);
}

static void *
run_thread (void *opaque)
{
  struct state *state = opaque;
  const struct in_order *in_order = state->in_order;
  size_t i;

  while (take (state, &i)) {
    bool done = in_order->work (in_order->opaque, i, i % IN_ORDER_MAX);

    set_item (state, i, done ? DONE : ALONE);
  }
  return NULL;
}

/* Start a thread for each item that is left, but at most one for each slot. */
static void
start_threads (struct state *state)
{
  size_t wanted = MIN (state->in_order->count - state->taken, IN_ORDER_MAX);

  state->stopped = false;
  while (state->nr_threads < wanted &&
         pthread_create (&state->threads[state->nr_threads], NULL, run_thread,
                         state) == 0)
    state->nr_threads++;
}

static void
stop (struct state *state)
{
  SCOPED_LOCK (&state->lock);

  state->stopped = true;
  pthread_cond_broadcast (&state->changed);
}

/* Wait for all threads.  When this returns, all items that were taken are done,
 * or ALONE.
 */
static void
end_threads (struct state *state)
{
  stop (state);
  while (state->nr_threads > 0)
    pthread_join (state->threads[--state->nr_threads], NULL);
}

/* Wait for item I.  Returns true when it is done, or false if it must be
 * processed alone.
 */
static bool
wait_for (struct state *state, size_t i)
{
  enum item *item = &state->items[i % IN_ORDER_MAX];
  SCOPED_LOCK (&state->lock);

  while (*item == PENDING)
    pthread_cond_wait (&state->changed, &state->lock);
  return *item == DONE;
}

/* Same as wait_for, but if there are no threads and item I is not taken yet,
 * start threads first.  If none can be started, take item I, and return false.
 */
static bool
wait_or_take (struct state *state, size_t i)
{
  if (state->nr_threads == 0 && state->taken == i)
    start_threads (state);
  if (state->nr_threads == 0 && state->taken == i) {
    state->taken++;
    return false;
  }
  return wait_for (state, i);
}

static void
set_delivered (struct state *state, size_t i)
{
  SCOPED_LOCK (&state->lock);

  state->items[i % IN_ORDER_MAX] = PENDING;
  state->delivered++;
  pthread_cond_broadcast (&state->changed);
}

bool
in_order_run (const struct in_order *in_order)
{
  struct state state = {
    .in_order = in_order,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
  };
  bool more = true;
  size_t i;

  for (i = 0; more && i < in_order->count; i++) {
    unsigned slot = i % IN_ORDER_MAX;

    if (!wait_or_take (&state, i)) {
      end_threads (&state);
      in_order->work_alone (in_order->opaque, i, slot);
    }
    more = in_order->deliver (in_order->opaque, i, slot);
    set_delivered (&state, i);
  }
  end_threads (&state);
  return more;
}

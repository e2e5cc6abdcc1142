/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Work on many items at once, results in order.
 *
 * Threads take the items in order.  An item is in flight from when it is taken
 * until it was delivered, and has a slot for that time: item I has slot
 * I % IN_ORDER_MAX, so a thread waits before it takes an item whose slot is
 * still that of an item IN_ORDER_MAX before it.  One slow item holds up those
 * behind it only then.
 *
 * There is no error: what fails is a result like any other, and if no thread
 * can be created, the calling thread does all items.
 */

#include <config.h>

#include <pthread.h>
#include <stdbool.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "util/in-order.h"

struct state {
  const struct in_order *in_order;

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;
  size_t taken, delivered;      /* items */
  bool stopped;                 /* no more is taken */
  bool done[IN_ORDER_MAX];      /* of each slot */
};

/* Take the next item, if there is one. */
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
set_done (struct state *state, size_t i)
{
  SCOPED_LOCK (&state->lock);

  state->done[i % IN_ORDER_MAX] = true;
  pthread_cond_broadcast (&state->changed);
}

static void *
run_thread (void *opaque)
{
  struct state *state = opaque;
  const struct in_order *in_order = state->in_order;
  size_t i;

  while (take (state, &i)) {
    in_order->work (in_order->opaque, i, i % IN_ORDER_MAX);
    set_done (state, i);
  }
  return NULL;
}

static void
wait_until_done (struct state *state, size_t i)
{
  SCOPED_LOCK (&state->lock);

  while (!state->done[i % IN_ORDER_MAX])
    pthread_cond_wait (&state->changed, &state->lock);
}

static void
set_delivered (struct state *state, size_t i, bool more)
{
  SCOPED_LOCK (&state->lock);

  state->done[i % IN_ORDER_MAX] = false;
  state->delivered++;
  state->stopped = !more;
  pthread_cond_broadcast (&state->changed);
}

/* Start as many threads as there are items, or slots.  Returns how many. */
static unsigned
start_threads (struct state *state, pthread_t threads[IN_ORDER_MAX])
{
  unsigned n = 0;

  while (n < MIN (state->in_order->count, IN_ORDER_MAX) &&
         pthread_create (&threads[n], NULL, run_thread, state) == 0)
    n++;
  return n;
}

static bool
deliver_all (struct state *state)
{
  const struct in_order *in_order = state->in_order;
  bool more = true;
  size_t i;

  for (i = 0; more && i < in_order->count; i++) {
    wait_until_done (state, i);
    more = in_order->deliver (in_order->opaque, i, i % IN_ORDER_MAX);
    set_delivered (state, i, more);
  }
  return more;
}

static bool
do_alone (const struct in_order *in_order)
{
  size_t i;

  for (i = 0; i < in_order->count; i++) {
    in_order->work (in_order->opaque, i, 0);
    if (!in_order->deliver (in_order->opaque, i, 0))
      return false;
  }
  return true;
}

bool
in_order_run (const struct in_order *in_order)
{
  struct state state = {
    .in_order = in_order,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
  };
  pthread_t threads[IN_ORDER_MAX];
  unsigned n = start_threads (&state, threads);
  bool all;

  if (n == 0)
    return do_alone (in_order);
  all = deliver_all (&state);
  while (n > 0)
    pthread_join (threads[--n], NULL);
  return all;
}

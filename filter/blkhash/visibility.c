/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of a disk that other connections might not see yet: see visibility.h.
 */

#include <config.h>

#include <assert.h>
#include <stddef.h>

#include "../lib/common/util.h"
#include "blkhash/exports-lock.h"
#include "blkhash/params.h"
#include "blkhash/visibility.h"

/* If blocks of layers below can begin at any byte, extend the range by all
 * bytes that can be in one block with a byte of the range.
 */
static void
widen (uint64_t *offset, uint64_t *end)
{
  if (!params.shifted)
    return;
  *offset -= MIN (*offset, params.unit - 1);
  *end += MIN (UINT64_MAX - *end, params.unit - 1);
}

void
visibility_round (uint64_t *offset, uint64_t *end)
{
  uint64_t rest;

  widen (offset, end);
  rest = *end % params.unit;
  *offset -= *offset % params.unit;
  if (rest)
    *end += params.unit - rest;
}

/* ---- Connections ---- */

void
visibility_open (struct visibility *v, struct unflushed *u)
{
  exports_assert_locked ();
  u->opened = ++v->last_opened;
  v->nr_open++;
}

static void
unlink_conn (struct unflushed *u)
{
  if (!u->link)
    return;
  *u->link = u->next;
  if (u->next)
    u->next->link = u->link;
  u->link = NULL;
}

static void
forget_closed (struct visibility *v)
{
  block_set_clear (&v->closed.changed);
  block_set_clear (&v->closed.trimmed);
  v->closed.opened = 0;
}

void
visibility_close (struct visibility *v, struct unflushed *u)
{
  exports_assert_locked ();
  if (u->opened == 0)
    return;
  assert (u->nr_flushes == 0);
  unlink_conn (u);
  v->nr_open--;
  if (u->opened <= v->closed.opened)
    v->nr_older--;
  if (v->nr_older == 0)
    forget_closed (v);
  if (!(block_set_is_empty (&u->changed) && block_set_is_empty (&u->trimmed))) {
    block_set_move (&v->closed.changed, params.unit, &u->changed);
    block_set_move (&v->closed.trimmed, params.unit, &u->trimmed);
    v->closed.opened = v->last_opened;
    v->nr_older = v->nr_open;
  }
  u->opened = 0;
}

void
visibility_destroy (struct visibility *v)
{
  forget_closed (v);
}

/* ---- Changes ---- */

static void
link_conn (struct visibility *v, struct unflushed *u)
{
  u->link = &v->conns;
  u->next = v->conns;
  if (u->next)
    u->next->link = &u->next;
  v->conns = u;
}

void
visibility_change (struct visibility *v, struct unflushed *u,
                   uint64_t offset, uint64_t end, bool trim)
{
  if (!u->link)
    link_conn (v, u);
  widen (&offset, &end);
  block_set_add (&u->changed, params.unit, offset, end);
  if (trim) {
    block_set_add (&u->trimmed, params.unit, offset, end);
    v->trims = true;
  }
}

/* Set *IN to true if the byte at OFFSET is in SET, and lower *RUN_END to the
 * end of the range to which the same answer applies.
 */
static inline void
look_up (struct block_set *set, uint64_t offset, uint64_t *run_end, bool *in)
{
  if (!block_set_is_empty (set))
    *in |= block_set_contains (set, params.unit, offset, *run_end, run_end);
}

/* The same for the unflushed changes of U and, if TRIMS is set, its trims. */
static void
look_up_conn (struct unflushed *u, bool trims,
              uint64_t offset, uint64_t *run_end, bool *in)
{
  look_up (&u->changed, offset, run_end, in);
  look_up (&u->flushing, offset, run_end, in);
  if (trims)
    look_up (&u->trimmed, offset, run_end, in);
}

static bool
find (struct visibility *v, const struct unflushed *u,
      uint64_t offset, uint64_t end, uint64_t *run_end, bool trims)
{
  struct unflushed *other;
  bool in = false;

  *run_end = end;
  for (other = v->conns; other; other = other->next)
    if (other != u)
      look_up_conn (other, trims, offset, run_end, &in);
  if (u->opened <= v->closed.opened)
    look_up_conn (&v->closed, trims, offset, run_end, &in);
  return in;
}

bool
visibility_conflict (struct visibility *v, const struct unflushed *u,
                     uint64_t offset, uint64_t end, uint64_t *run_end)
{
  return find (v, u, offset, end, run_end, false);
}

bool
visibility_hidden (struct visibility *v, struct unflushed *u,
                   uint64_t offset, uint64_t end, uint64_t *run_end)
{
  bool in = find (v, u, offset, end, run_end, true);

  exports_assert_locked ();
  if (u->failed)
    look_up_conn (u, false, offset, run_end, &in);
  return in;
}

bool
visibility_own (struct unflushed *u,
                uint64_t offset, uint64_t end, uint64_t *run_end)
{
  bool in = false;

  exports_assert_locked ();
  *run_end = end;
  if (!u->failed)
    look_up (&u->changed, offset, run_end, &in);
  look_up (&u->trimmed, offset, run_end, &in);
  return in;
}

void
visibility_overwrite (struct visibility *v, uint64_t offset, uint64_t end)
{
  struct unflushed *u;

  if (!v->trims)
    return;
  for (u = v->conns; u; u = u->next)
    block_set_remove (&u->trimmed, params.unit, offset, end);
  block_set_remove (&v->closed.trimmed, params.unit, offset, end);
}

/* ---- Flushes ---- */

bool
visibility_needs_flush (const struct unflushed *u)
{
  exports_assert_locked ();
  return !block_set_is_empty (&u->changed);
}

/* Flushes that overlap in time count as one flush, which ends when the last of
 * them ends: if one of them fails, another may succeed merely because the data
 * is already lost.  Rejected: a set for each flush, with the changes before the
 * flush began.
 */
void
visibility_flush_begin (struct unflushed *u)
{
  exports_assert_locked ();
  if (u->nr_flushes++ > 0)
    return;
  u->flush_failed = false;
  block_set_move (&u->flushing, params.unit, &u->changed);
}

bool
visibility_flushing (struct unflushed *u,
                     uint64_t offset, uint64_t end, uint64_t *run_end)
{
  bool in = false;

  *run_end = end;
  look_up (&u->flushing, offset, run_end, &in);
  return in;
}

static void
fail_flush (struct unflushed *u,
            void (*fn) (void *opaque, uint64_t offset, uint64_t end),
            void *opaque)
{
  uint64_t offset = 0, end;

  u->failed = u->flush_failed = true;
  block_set_move (&u->changed, params.unit, &u->flushing);
  for (; block_set_next (&u->changed, params.unit, &offset, &end); offset = end)
    fn (opaque, offset, end);
}

bool
visibility_flush_end (struct unflushed *u, bool ok,
                      void (*fn) (void *opaque, uint64_t offset, uint64_t end),
                      void *opaque)
{
  bool flushed;

  exports_assert_locked ();
  u->nr_flushes--;
  if (!ok) {
    fail_flush (u, fn, opaque);
    return true;
  }
  if (u->nr_flushes > 0 || u->flush_failed)
    return false;
  flushed = !block_set_is_empty (&u->flushing);
  block_set_clear (&u->flushing);
  u->failed = false;
  return flushed;
}

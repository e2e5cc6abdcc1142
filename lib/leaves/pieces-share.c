/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The users of a memory budget are the tables that have pieces of blocks.
 *
 * A table that needs room holds its own lock, so it must not wait for the lock
 * of another table: a user whose lock is held is skipped.
 *
 * A user is added to the list with its first piece.  It is removed when it is
 * freed, or if it holds nothing at the time that any table needs room.
 */

#include <config.h>

#include <errno.h>

#include "common/cleanup.h"
#include "leaves/pieces-share.h"
#include "leaves/pieces.h"

static void
add_user_locked (struct pieces *pieces)
{
  struct pieces_budget *budget = pieces->budget;

  pieces->prev_user = NULL;
  pieces->next_user = budget->users;
  if (budget->users)
    budget->users->prev_user = pieces;
  budget->users = pieces;
  pieces->listed = true;
}

static void
remove_user_locked (struct pieces *pieces)
{
  if (pieces->prev_user)
    pieces->prev_user->next_user = pieces->next_user;
  else
    pieces->budget->users = pieces->next_user;
  if (pieces->next_user)
    pieces->next_user->prev_user = pieces->prev_user;
  pieces->listed = false;
}

void
share_add_user (struct pieces *pieces)
{
  if (pieces->listed)
    return;

  SCOPED_LOCK (&pieces->budget->users_lock);
  if (!pieces->listed)
    add_user_locked (pieces);
}

void
share_remove_user (struct pieces *pieces)
{
  SCOPED_LOCK (&pieces->budget->users_lock);

  if (pieces->listed)
    remove_user_locked (pieces);
}

/* The user with the highest rank evicts first.  The rank is the memory that the
 * user holds, and idle users rank above all others.
 */
static uint64_t
eviction_rank (const struct pieces *user)
{
  uint64_t held = user->held;

  return held > 0 && user->idle ? held + UINT64_MAX / 2 : held;
}

/* Find the largest user that was not tried yet, with idle users before all
 * others.  If several hold the same amount, FIRST is preferred.  Users that
 * hold nothing are removed from the list.
 */
static struct pieces *
find_largest_locked (struct pieces_budget *budget, struct pieces *first)
{
  struct pieces *user, *next, *best = NULL;
  uint64_t best_rank = 0;

  if (first->listed && !first->tried) {
    best_rank = eviction_rank (first);
    best = best_rank > 0 ? first : NULL;
  }
  for (user = budget->users; user; user = next) {
    uint64_t rank = eviction_rank (user);

    next = user->next_user;
    if (rank == 0) {
      remove_user_locked (user);
      /* The user may have added a piece just before it was removed from the
       * list.  At that time it was still listed, so it did not add itself.
       */
      if (user->held > 0)
        add_user_locked (user);
    }
    else if (!user->tried && rank > best_rank) {
      best = user;
      best_rank = rank;
    }
  }
  return best;
}

int
share_make_room (struct pieces *pieces, struct partial **oldest)
{
  struct pieces_budget *budget = pieces->budget;
  struct pieces *user;
  SCOPED_LOCK (&budget->users_lock);

  for (user = budget->users; user; user = user->next_user)
    user->tried = false;
  while ((user = find_largest_locked (budget, pieces))) {
    if (user == pieces) {
      *oldest = pieces_oldest (pieces);
      if (*oldest)
        return EAGAIN;
    }
    else if (user->evict && user->evict (user->opaque))
      return 0;
    user->tried = true;
  }
  return ENOBUFS;
}

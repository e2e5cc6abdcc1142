/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an NBD server tells of the sparseness of an export.
 *
 * A server far away is asked for the next extents while those before them are
 * used: else a large sparse export would be one round trip after the other.
 * What was asked ahead helps, and nothing depends on it: where there is no
 * answer, of a part or at all, the server is asked again, and that is what
 * tells an error.
 *
 * A request is sent ahead by the connection whose turn it is, and its answer
 * comes to the thread of that connection, which another one cannot wait for: it
 * could wait for its turn.  So it asks by itself, which is rare.
 *
 * Nothing is asked ahead when a skip shows that not all is wanted, or where
 * extents are so many that reading them takes longer than asking.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "nbd/extents.h"
#include "nbd/handle.h"
#include "nbd/load.h"
#include "util/error.h"
#include "util/extent.h"

/* The longest range to ask about, bytes.  nbdkit 1.32 aborts when it is asked
 * about 2^32 - 1 bytes.
 */
#define MAX_STATUS (UINT32_C (1) << 31)

/* The most extents to keep of a request that was sent ahead: 64 KiB.  A server
 * can tell a million.
 */
#define MAX_AHEAD_EXTENTS 4096

void
nbd_extents_init (struct nbd_extents *extents, uint64_t size)
{
  *extents = (struct nbd_extents) { .size = size };
  pthread_mutex_init (&extents->lock, NULL);
  for (unsigned i = 0; i < NBD_AHEAD; i++)
    extents->ahead[i].all = extents;
}

void
nbd_extents_destroy (struct nbd_extents *extents)
{
  for (unsigned i = 0; i < NBD_AHEAD; i++)
    free (extents->ahead[i].told.extents);
  free (extents->told.extents);
  pthread_mutex_destroy (&extents->lock);
}

bool
nbd_can_extents (struct nbd_handle *nbd)
{
  return nbd_can_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == 1;
}

/* ---- Answers ---- */

/* Store what the server said, up to MAX extents.  A hole that is not said to be
 * zero can read as anything.
 */
static int
store (struct nbd_told *told, const char *context, const uint32_t *entries,
       size_t count, size_t max, int *err)
{
  struct extent *extents;

  if (strcmp (context, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 || count == 0)
    return 0;
  count = MIN (count, max);
  extents = realloc (told->extents, count * sizeof *extents);
  if (!extents) {
    *err = ENOMEM;
    return -1;
  }
  for (size_t i = 0; i < count; i++)
    extents[i] = (struct extent) {
      .len = entries[2 * i], .zero = entries[2 * i + 1] & LIBNBD_STATE_ZERO
    };
  told->extents = extents;
  told->count = count;
  return 0;
}

static int
store_all (void *opaque, const char *context, uint64_t offset,
           uint32_t *entries, size_t nr_entries, int *err)
{
  (void) offset;
  return store (opaque, context, entries, nr_entries / 2, SIZE_MAX, err);
}

static int
store_ahead (void *opaque, const char *context, uint64_t offset,
             uint32_t *entries, size_t nr_entries, int *err)
{
  struct nbd_ahead *ahead = opaque;

  (void) offset;
  return store (&ahead->told, context, entries, nr_entries / 2,
                MAX_AHEAD_EXTENTS, err);
}

/* ---- Ahead ---- */

/* In the thread of its connection, inside a call of libnbd. */
static int
ahead_done (void *opaque, int *err)
{
  struct nbd_ahead *ahead = opaque;
  bool is_good = *err == 0 && ahead->told.count > 0;
  SCOPED_LOCK (&ahead->all->lock);

  if (ahead->state == NBD_AHEAD_SENT && is_good)
    ahead->state = NBD_AHEAD_ANSWERED;
  else
    ahead->state = NBD_AHEAD_NONE;
  ahead->asker->in_flight--;
  return *err == 0;             /* see conn.c */
}

static bool
send_one (struct nbd_ahead *ahead)
{
  ahead->asker->in_flight++;
  if (nbd_aio_block_status (ahead->asker->nbd, ahead->end - ahead->start,
                            ahead->start,
                            (nbd_extent_callback) {
                              .callback = store_ahead, .user_data = ahead,
                            },
                            (nbd_completion_callback) {
                              .callback = ahead_done, .user_data = ahead,
                            }, 0) != -1)
    return true;
  ahead->asker->in_flight--;
  return false;
}

/* How much to ask at once about OFFSET and what is behind it? */
static uint64_t
status_len (const struct nbd_extents *extents, uint64_t offset)
{
  return MIN (extents->size - offset, MAX_STATUS);
}

static void
set_state (struct nbd_ahead *ahead, int state)
{
  SCOPED_LOCK (&ahead->all->lock);

  ahead->state = state;
}

static bool
is_free (struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&ahead->all->lock);

  return ahead->state == NBD_AHEAD_NONE;
}

static void
send_ahead (struct nbd_extents *extents)
{
  for (unsigned i = 0; i < NBD_AHEAD && extents->asked < extents->size &&
       extents->room > 0; i++) {
    struct nbd_ahead *ahead = &extents->ahead[i];

    if (!is_free (ahead))
      continue;
    ahead->asker = extents->asker;
    ahead->start = extents->asked;
    ahead->end = ahead->start + status_len (extents, ahead->start);
    ahead->told.count = 0;
    ahead->told.start = ahead->start;
    set_state (ahead, NBD_AHEAD_SENT);
    if (!send_one (ahead)) {
      set_state (ahead, NBD_AHEAD_NONE);
      return;
    }
    extents->asked = ahead->end;
    extents->room--;
  }
}

/* ---- What was asked ahead is needed ---- */

static void
drop_locked (struct nbd_ahead *ahead)
{
  if (ahead->state == NBD_AHEAD_SENT)
    ahead->state = NBD_AHEAD_IN_VAIN;
  else if (ahead->state == NBD_AHEAD_ANSWERED)
    ahead->state = NBD_AHEAD_NONE;
}

static bool
is_pending_locked (const struct nbd_ahead *ahead)
{
  return ahead->state == NBD_AHEAD_SENT ||
    ahead->state == NBD_AHEAD_ANSWERED;
}

/* What is about OFFSET, or NULL.  What is about less is dropped. */
static struct nbd_ahead *
find_ahead (struct nbd_extents *extents, uint64_t offset)
{
  struct nbd_ahead *found = NULL;
  SCOPED_LOCK (&extents->lock);

  for (unsigned i = 0; i < NBD_AHEAD; i++) {
    struct nbd_ahead *ahead = &extents->ahead[i];

    if (!is_pending_locked (ahead) || ahead->start > offset)
      continue;
    if (ahead->end > offset)
      found = ahead;
    else
      drop_locked (ahead);
  }
  return found;
}

/* Where the first of those starts that are about something behind OFFSET. */
static uint64_t
next_ahead (struct nbd_extents *extents, uint64_t offset)
{
  uint64_t start = UINT64_MAX;
  SCOPED_LOCK (&extents->lock);

  for (unsigned i = 0; i < NBD_AHEAD; i++) {
    const struct nbd_ahead *ahead = &extents->ahead[i];

    if (is_pending_locked (ahead) && ahead->start > offset)
      start = MIN (start, ahead->start);
  }
  return start;
}

static bool
is_in_flight (struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&ahead->all->lock);

  return ahead->state == NBD_AHEAD_SENT;
}

/* The answer, if there is one, is what is used now. */
static bool
use_ahead (struct nbd_extents *extents, struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&extents->lock);

  if (ahead->state != NBD_AHEAD_ANSWERED) {
    drop_locked (ahead);
    return false;
  }
  free (extents->told.extents);
  extents->told = ahead->told;
  ahead->told.extents = NULL;
  ahead->state = NBD_AHEAD_NONE;
  return true;
}

static int
fail (uint64_t offset, struct error *error)
{
  return error_set (error, "cannot get extents at offset %llu: %s",
                    (unsigned long long) offset, nbd_error_text ());
}

/* 1 if OFFSET was asked for ahead, and is told now; 0; or -1. */
static int
take_ahead (struct nbd_extents *extents, uint64_t offset,
            struct error *error)
{
  struct nbd_ahead *ahead = find_ahead (extents, offset);

  if (!ahead)
    return 0;
  if (ahead->asker == extents->asker)
    while (is_in_flight (ahead))
      if (nbd_poll (ahead->asker->nbd, -1) == -1)
        return fail (offset, error);
  return use_ahead (extents, ahead);
}

/* ---- Extents in order ---- */

static int
ask (struct nbd_extents *extents, uint64_t offset, struct error *error)
{
  uint64_t len = MIN (status_len (extents, offset),
                      next_ahead (extents, offset) - offset);

  extents->told.count = 0;
  extents->told.start = offset;
  if (nbd_block_status (extents->asker->nbd, len, offset,
                        (nbd_extent_callback) {
                          .callback = store_all, .user_data = &extents->told,
                        }, 0) == -1)
    return fail (offset, error);
  if (extents->told.count == 0)
    return error_set (error, "the server told no extents at offset %llu",
                      (unsigned long long) offset);
  extents->asked = MAX (extents->asked, offset + len);
  return 0;
}

/* Skip what is before OFFSET.  Is it told? */
static bool
has_told (struct nbd_extents *extents, uint64_t offset)
{
  const struct nbd_told *told = &extents->told;

  while (extents->next < told->count && told->extents[extents->next].len > 0 &&
         told->extents[extents->next].len <= offset - extents->offset)
    extents->offset += told->extents[extents->next++].len;
  return extents->next < told->count;
}

/* As take_ahead: 1 or -1, and 0 if the answer ended before OFFSET. */
static int
fetch (struct nbd_extents *extents, uint64_t offset, struct error *error)
{
  int r = take_ahead (extents, offset, error);

  extents->next = 0;
  extents->offset = extents->told.start;
  if (r == 1 && has_told (extents, offset))
    return 0;
  if (r == -1 || ask (extents, offset, error) == -1)
    return -1;
  extents->next = 0;
  extents->offset = offset;
  return 0;
}

int
nbd_extent_at (void *opaque, uint64_t offset, struct extent *extent,
               struct error *error)
{
  struct nbd_extents *extents = opaque;

  if (!has_told (extents, offset)) {
    bool is_next = offset == extents->offset;

    if (fetch (extents, offset, error) == -1)
      return -1;
    if (is_next && extents->told.count < MAX_AHEAD_EXTENTS)
      send_ahead (extents);
  }
  *extent = extents->told.extents[extents->next];
  if (extent->len > 0)
    extent->len -= offset - extents->offset;
  return 0;
}

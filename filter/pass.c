/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over what is missing in an export.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "conn.h"
#include "export.h"
#include "observe.h"
#include "params.h"
#include "pass.h"

#define READ_SIZE (1024 * 1024)         /* bytes */
#define EXTENTS_SIZE (1u << 30)         /* bytes to query at once */
#define PROGRESS_STEP (UINT64_C (1) << 30) /* bytes between debug messages */

bool
pass_is_last_locked (const struct pass *p)
{
  return p->export->conns == 0 && p->export->joins == p->joins;
}

/* 0, or an errno value if the pass must stop, as for pass_read. */
static int
why_stop (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  if (p->export->broken || (!p->own_only && !pass_is_last_locked (p)))
    return ECANCELED;
  return conn_is_stale_locked (p->conn) ? ESTALE : 0;
}

uint64_t
pass_missing (struct blkhash_leaves *leaves)
{
  uint64_t offset = 0, start, len, sum = 0;

  while (blkhash_leaves_next_missing (leaves, offset, &start, &len) == 0) {
    sum += len;
    offset = start + len;
  }
  return sum;
}

static uint64_t
round_up (uint64_t n, uint64_t unit)
{
  return n % unit == 0 ? n : n + (unit - n % unit);
}

/* ---- Extents ---- */

/* Query LEN bytes at OFFSET.  Returns where the reply ends, which can be
 * earlier.
 */
static uint64_t
query_extents (const struct pass *p, uint64_t offset, uint32_t len)
{
  struct nbdkit_extents *extents = nbdkit_extents_new (offset, p->export->size);
  struct request request;
  struct nbdkit_extent last;
  uint64_t end = offset;
  size_t count;
  int err;

  if (!extents)
    return offset;
  observe_begin (p->conn, &request, offset, len);
  if (p->next->extents (p->next, len, offset, 0, extents, &err) == 0) {
    observe_extents (p->conn, &request, extents, false);
    count = nbdkit_extents_count (extents);
    if (count > 0) {
      last = nbdkit_get_extent (extents, count - 1);
      end = last.offset + last.length;
    }
  }
  observe_end (p->conn, &request, 0);
  nbdkit_extents_free (extents);
  return end;
}

void
pass_query_extents (const struct pass *p)
{
  uint64_t unit = blkhash_opts_get_block_size (params.hash);
  uint64_t offset = 0, start, len, end;

  if (p->next->can_extents (p->next) != 1)
    return;
  while (why_stop (p) == 0 &&
         blkhash_leaves_next_missing (p->leaves, offset, &start, &len) == 0) {
    /* Whole blocks, since some plugins fail for unaligned ranges. */
    end = round_up (start + (len < EXTENTS_SIZE ? len : EXTENTS_SIZE), unit);
    if (end > p->export->size)
      end = p->export->size;
    offset = start - start % unit;
    offset = query_extents (p, offset, end - offset);
    if (offset <= start)
      return;
  }
}

/* ---- Reading ---- */

bool
pass_is_hidden (const struct pass *p)
{
  struct visibility *v = &p->export->disk->visibility;
  uint64_t start, len, offset, end;

  for (offset = 0;
       blkhash_leaves_next_missing (p->leaves, offset, &start, &len) == 0;
       offset = start + len) {
    SCOPED_LOCK (&exports_lock);

    for (offset = start; offset < start + len; offset = end)
      if (visibility_hidden (v, &p->conn->unflushed, offset, start + len,
                             &end))
        return true;
  }
  return false;
}

/* Clip a missing range to what this pass must read.  False: nothing. */
static bool
clip (const struct pass *p, uint64_t *start, uint64_t *len)
{
  uint64_t offset, end;
  SCOPED_LOCK (&exports_lock);

  if (!p->own_only)
    return true;
  for (offset = *start; offset < *start + *len; offset = end)
    if (visibility_own (&p->conn->unflushed, offset, *start + *len, &end)) {
      *start = offset;
      *len = end - offset;
      return true;
    }
  return false;
}

/* The next range to read, at OFFSET or after it. */
static bool
next_range (const struct pass *p, uint64_t offset,
            uint64_t *start, uint64_t *len)
{
  while (blkhash_leaves_next_missing (p->leaves, offset, start, len) == 0) {
    if (clip (p, start, len))
      return true;
    offset = *start + *len;
  }
  return false;
}

/* The smallest unit that the plugin can read, and the most it can at once. */
static void
find_read_sizes (const struct pass *p, uint64_t *unit, uint64_t *most)
{
  uint32_t minimum, preferred, maximum;

  *unit = 1;
  *most = READ_SIZE;
  if (p->next->block_size (p->next, &minimum, &preferred, &maximum) == -1)
    return;
  if (minimum > 0 && minimum <= READ_SIZE)
    *unit = minimum;
  if (maximum >= *unit && maximum < *most)
    *most = maximum;
  *most -= *most % *unit;
}

/* Read LEN bytes at OFFSET.  0, or an errno value. */
static int
read_range (const struct pass *p, void *buf, uint32_t len, uint64_t offset)
{
  struct request request;
  int err = EIO, r;

  observe_begin (p->conn, &request, offset, len);
  r = p->next->pread (p->next, buf, len, offset, 0, &err);
  if (r == 0)
    observe_data (p->conn, &request, buf);
  observe_end (p->conn, &request, 0);
  return r == 0 ? 0 : err;
}

/* As pass_read. */
static int
read_missing (const struct pass *p, void *buf, uint64_t missing)
{
  uint64_t size = p->export->size, unit, most;
  uint64_t offset = 0, start, len, done = 0, reported = 0;

  find_read_sizes (p, &unit, &most);
  while (next_range (p, offset, &start, &len)) {
    int err = why_stop (p);
    uint64_t end;

    if (err)
      return err;
    end = round_up (start + (len < most ? len : most), unit);
    if (end > size)
      end = size;
    start -= start % unit;
    if (end - start > most)
      end = start + most;
    err = read_range (p, buf, end - start, start);
    if (err)
      return err;
    offset = end;
    done += end - start;
    if (done - reported >= PROGRESS_STEP) {
      nbdkit_debug ("blkhash: read %" PRIu64 " of %" PRIu64 " missing bytes "
                    "of '%s'", done, missing, p->export->name);
      reported = done;
    }
  }
  return 0;
}

int
pass_read (const struct pass *p, uint64_t missing)
{
  uint64_t start, len;
  void *buf;
  int err;

  if (!next_range (p, 0, &start, &len))
    return 0;
  buf = malloc (READ_SIZE);
  if (!buf)
    return ENOMEM;
  if (!p->own_only)
    nbdkit_debug ("blkhash: reading %" PRIu64 " missing bytes of '%s'",
                  missing, p->export->name);
  err = read_missing (p, buf, missing);
  free (buf);
  return err;
}

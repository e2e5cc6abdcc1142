/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pass over the missing ranges of an export: query their extents, and find
 * the ranges that must be read.
 */

#include <config.h>

#include <unistd.h>

#include <nbdkit-filter.h>

#include "blkhash.h"

#include "../lib/common/strata.h"
#include "../lib/common/util.h"
#include "conn.h"
#include "export.h"
#include "observe.h"
#include "params.h"
#include "pass.h"

#define EXTENTS_SIZE (1u << 30)         /* bytes to query at once */

bool
pass_is_last_locked (const struct pass *p)
{
  return p->export->conns == 0 && p->export->joins == p->joins;
}

int
pass_why_stop (const struct pass *p)
{
  SCOPED_LOCK (&exports_lock);

  if (p->export->broken || disk_is_mixed (p->export->disk) ||
      (!p->own_only && !pass_is_last_locked (p)))
    return PASS_CANCELED;
  return conn_is_stale_locked (p->conn) ? PASS_STALE : 0;
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

/* ---- Extents ---- */

/* Query the extents of LEN bytes at OFFSET, and observe them.  Returns the end
 * of the plugin's reply, which can be before OFFSET + LEN; or OFFSET if there
 * is no reply.  The part of a reply after OFFSET + LEN is ignored.
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
      end = MIN (last.offset + last.length, offset + len);
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
  uint64_t offset = 0, start, len, begin, end;

  if (p->next->can_extents (p->next) != 1)
    return;
  while (pass_why_stop (p) == 0 &&
         blkhash_leaves_next_missing (p->leaves, offset, &start, &len) == 0) {
    /* Query whole blocks, because some plugins fail for unaligned ranges.  But
     * if the last reply ended within a block, begin with the rest of the block.
     */
    begin = MAX (offset, ROUND_DOWN (start, unit));
    end = ROUND_UP (start + (len < EXTENTS_SIZE ? len : EXTENTS_SIZE), unit);
    if (end > p->export->size)
      end = p->export->size;
    offset = query_extents (p, begin, end - begin);
    if (offset == begin)
      return;
  }
}

/* ---- Ranges to read ---- */

/* Clip a missing range to the first part that this pass must read.  Returns
 * false if there is no such part.
 */
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

int
pass_choose_sample (struct pass *p, struct strata *sample)
{
  uint32_t block_size = blkhash_opts_get_block_size (params.hash);
  uint64_t unit = MAX (block_size, STRATA_READ_UNIT), seed;
  uint64_t units = p->export->size / unit + (p->export->size % unit != 0);

  if (!p->export->baseline)
    return 0;
  if (getentropy (&seed, sizeof seed) == -1)
    return -1;
  strata_init (sample, units, params.audit, seed);
  p->sample = sample;
  p->sample_unit = unit;
  return sample->chosen > 0;
}

/* Find the next unit of the sample that begins at OFFSET or after it. */
static bool
next_of_sample (const struct pass *p, uint64_t offset,
                uint64_t *start, uint64_t *len)
{
  uint64_t unit = p->sample_unit, count;
  uint64_t n = offset / unit + (offset % unit != 0);

  for (; n < p->sample->units; n += count)
    if (strata_at (p->sample, n, &count)) {
      *start = n * unit;
      *len = MIN (unit, p->export->size - *start);
      return true;
    }
  return false;
}

bool
pass_next_range (const struct pass *p, uint64_t offset,
                 uint64_t *start, uint64_t *len)
{
  if (p->sample)
    return next_of_sample (p, offset, start, len);
  while (blkhash_leaves_next_missing (p->leaves, offset, start, len) == 0) {
    if (clip (p, start, len))
      return true;
    offset = *start + *len;
  }
  return false;
}

bool
pass_is_hidden (const struct pass *p)
{
  struct visibility *v = &p->export->disk->visibility;
  uint64_t start, len, offset, end;

  for (offset = 0; pass_next_range (p, offset, &start, &len);
       offset = start + len) {
    SCOPED_LOCK (&exports_lock);

    for (offset = start; offset < start + len; offset = end)
      if (visibility_hidden (v, &p->conn->unflushed, offset, start + len,
                             &end))
        return true;
  }
  return false;
}

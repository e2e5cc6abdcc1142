/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scan request: fill a leaf table from an image, search it, or copy ranges.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/zero.h"
#include "read/scan.h"
#include "util/first-bytes.h"
#include "util/progress.h"

#define SEARCH_UNIT (64 * 1024) /* bytes: alignment of ranges to search */

uint64_t
padding_add (const struct padding *padding, uint64_t size)
{
  uint64_t more = padding->to_unit > 0 ? -size & (padding->to_unit - 1) : 0;

  return MAX (more < UINT64_MAX - size ? size + more : size, padding->to_size);
}

void
scan_init (struct scan *scan, struct blkhash_leaves *leaves,
           size_t block_size)
{
  *scan = (struct scan) {
    .leaves = leaves, .block_size = block_size, .to = UINT64_MAX
  };
  pthread_mutex_init (&scan->lock, NULL);
}

void
scan_init_search (struct scan *scan, uint64_t from)
{
  scan_init (scan, NULL, SEARCH_UNIT);
  scan->from = from;
}

void
scan_init_copy (struct scan *scan, size_t block_size, uint64_t size,
                int (*receive) (void *opaque, const void *buf, uint64_t len,
                                uint64_t offset),
                void *opaque)
{
  scan_init (scan, NULL, block_size);
  scan->to = size;
  scan->receive = receive;
  scan->receive_opaque = opaque;
}

void
scan_destroy (struct scan *scan)
{
  pthread_mutex_destroy (&scan->lock);
}

/* ---- Data ---- */

/* Returns the number of zero bytes at the start of the LEN bytes of BUF. */
static size_t
count_zeros (const unsigned char *buf, size_t len)
{
  const size_t step = 4096;
  size_t i = 0;

  while (len - i > step && is_zero (buf + i, step))
    i += step;
  while (i < len && buf[i] == 0)
    i++;
  return i;
}

/* Search the LEN bytes of BUF for data.  Whole blocks are read, so BUF can
 * begin before FROM.
 */
static void
search_data (struct scan *scan, const unsigned char *buf, size_t len,
             uint64_t offset)
{
  uint64_t skip = offset < scan->from ? scan->from - offset : 0;
  size_t at;

  if (skip >= len)
    return;
  at = skip + count_zeros (buf + skip, len - skip);
  if (at == len)
    return;

  SCOPED_LOCK (&scan->lock);
  if (scan->to > offset + at)
    scan->to = offset + at;
}

int
scan_add_data (struct scan *scan, const void *buf, size_t len, uint64_t offset)
{
  if (scan->first)
    first_bytes_set (scan->first, buf, len, offset);
  if (scan->leaves)
    return blkhash_leaves_data (scan->leaves, buf, len, offset);
  if (scan->receive)
    return scan->receive (scan->receive_opaque, buf, len, offset);
  search_data (scan, buf, len, offset);
  return 0;
}

int
scan_add_zero (struct scan *scan, uint64_t len, uint64_t offset)
{
  if (scan->leaves)
    return blkhash_leaves_zero (scan->leaves, len, offset);
  if (scan->receive)
    return scan->receive (scan->receive_opaque, NULL, len, offset);
  return 0;
}

int
scan_set_size (struct scan *scan, uint64_t size)
{
  uint64_t full = padding_add (&scan->request.padding, size);
  int err = blkhash_leaves_set_size (scan->leaves, full);

  return err ? err : blkhash_leaves_zero (scan->leaves, full - size, size);
}

size_t
scan_batch_size (const struct scan *scan)
{
  return scan->leaves ? blkhash_leaves_batch (scan->leaves) : SEARCH_UNIT;
}

bool
scan_ends_before (struct scan *scan, uint64_t offset)
{
  SCOPED_LOCK (&scan->lock);

  return offset >= scan->to;
}

/* ---- Progress and errors ---- */

void
scan_count (struct scan *scan, uint64_t len, bool hole)
{
  {
    SCOPED_LOCK (&scan->lock);

    *(hole ? &scan->hole : &scan->read) += len;
  }
  progress_add (scan->request.progress, len);
}

bool
scan_fail (struct scan *scan, const struct error *error)
{
  SCOPED_LOCK (&scan->lock);

  if (error_is_set (&scan->error))
    return false;
  scan->error = *error;
  return true;
}

bool
scan_has_failed (struct scan *scan)
{
  const struct scan_request *request = &scan->request;

  if (request->stopped && request->stopped (request->stopped_opaque))
    return true;

  SCOPED_LOCK (&scan->lock);

  return error_is_set (&scan->error);
}

/* Find the next range that is missing in the table.  Without a table, all bytes
 * before scan->to are missing.
 */
static int
next_missing (struct scan *scan, uint64_t offset, uint64_t *start,
              uint64_t *len)
{
  if (scan->leaves)
    return blkhash_leaves_next_missing (scan->leaves, offset, start, len);

  SCOPED_LOCK (&scan->lock);
  if (offset >= scan->to)
    return ENOENT;
  *start = offset;
  *len = scan->to - offset;
  return 0;
}

/* Find the next missing range that is wanted.  In a table, missing ranges
 * before it are set to zero.
 */
static int
next_wanted (struct scan *scan, uint64_t offset, uint64_t *start,
             uint64_t *len)
{
  const struct scan_request *request = &scan->request;

  for (;;) {
    int err = next_missing (scan, offset, start, len);
    uint64_t same;
    bool wanted;

    if (err || !request->wanted)
      return err;
    wanted = request->wanted (request->opaque, *start, &same);
    if (*len > same)
      *len = same;
    if (wanted)
      return 0;
    if (scan->leaves)
      err = blkhash_leaves_zero (scan->leaves, *len, *start);
    if (err)
      return err;
    offset = *start + *len;
  }
}

int
scan_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                 uint64_t *len, struct error *error)
{
  struct scan *scan = opaque;
  int err;

  if (offset < scan->from)
    offset = scan->from;
  err = next_wanted (scan, offset, start, len);
  if (err && err != ENOENT)
    return error_errno (error, err, "cannot hash");

  SCOPED_LOCK (&scan->lock);
  if (err || *start >= scan->to)
    return 0;
  if (*len > scan->to - *start)
    *len = scan->to - *start;
  return 1;
}

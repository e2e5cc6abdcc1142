/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "../lib/common/util.h"
#include "blkhash.h"
#include "read/content.h"
#include "read/scan.h"
#include "util/first-bytes.h"
#include "util/progress.h"
#include "util/ranges.h"

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
    .leaves = leaves, .block_size = block_size
  };
  pthread_mutex_init (&scan->lock, NULL);
}

void
scan_init_copy (struct scan *scan, size_t block_size, void *buf, size_t len,
                uint64_t offset)
{
  scan_init (scan, NULL, block_size);
  scan->copy = buf;
  scan->copy_start = offset;
  scan->copy_end = offset + len;
}

void
scan_destroy (struct scan *scan)
{
  pthread_mutex_destroy (&scan->lock);
}

/* ---- Data ---- */

/* Copy what is in the range, from BUF, or zeros if BUF is NULL. */
static int
copy (struct scan *scan, const unsigned char *buf, uint64_t len,
      uint64_t offset)
{
  uint64_t start = MAX (offset, scan->copy_start);
  uint64_t end = MIN (offset + len, scan->copy_end);
  unsigned char *to = scan->copy + (start - scan->copy_start);

  if (start < end && buf)
    memcpy (to, buf + (start - offset), end - start);
  else if (start < end)
    memset (to, 0, end - start);
  return 0;
}

int
scan_add_data (struct scan *scan, const void *buf, size_t len, uint64_t offset)
{
  if (scan->first)
    first_bytes_set (scan->first, buf, len, offset);
  if (scan->leaves)
    return blkhash_leaves_data (scan->leaves, buf, len, offset);
  return copy (scan, buf, len, offset);
}

int
scan_add_zero (struct scan *scan, uint64_t len, uint64_t offset)
{
  int err = scan->leaves ? blkhash_leaves_zero (scan->leaves, len, offset)
                         : copy (scan, NULL, len, offset);

  return err || !scan->request.content
    ? err : content_add_zero (scan->request.content, len, offset);
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
  return scan->leaves ? blkhash_leaves_batch (scan->leaves) : scan->block_size;
}

/* ---- Progress and errors ---- */

void
scan_count (struct scan *scan, uint64_t len, bool hole)
{
  {
    SCOPED_LOCK (&scan->lock);

    *(hole ? &scan->hole : &scan->read) += len;
  }
  if (!scan->request.content)
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

/* Find the next range that is missing in the table; or the range to copy. */
static int
next_missing (struct scan *scan, uint64_t offset, uint64_t *start,
              uint64_t *len)
{
  if (scan->leaves)
    return blkhash_leaves_next_missing (scan->leaves, offset, start, len);
  if (offset >= scan->copy_end)
    return ENOENT;
  *start = MAX (offset, scan->copy_start);
  *len = scan->copy_end - *start;
  return 0;
}

/* Find the next missing range that is selected.  Missing ranges before it are
 * set to zero.
 */
static int
next_selected (struct scan *scan, uint64_t offset, uint64_t *start,
               uint64_t *len)
{
  const struct selection *selection = scan->request.selection;

  for (;;) {
    int err = next_missing (scan, offset, start, len);
    uint64_t same;
    bool selected;

    if (err || !selection)
      return err;
    selected = selection_has (selection, *start, &same);
    *len = MIN (*len, same);
    if (selected)
      return 0;
    err = blkhash_leaves_zero (scan->leaves, *len, *start);
    if (err)
      return err;
    offset = *start + *len;
  }
}

enum next_range
scan_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                 uint64_t *len, struct error *error)
{
  int err = next_selected (opaque, offset, start, len);

  if (err == 0)
    return NEXT_FOUND;
  if (err == ENOENT)
    return NEXT_END;
  error_errno (error, err, "cannot hash");
  return NEXT_ERROR;
}

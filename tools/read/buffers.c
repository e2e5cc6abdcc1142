/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory is allocated in units, the lowest free units first.  Short reads use
 * few units, so many of them can be in flight.  The lowest units are used again
 * and again, so they are likely to be in a CPU cache.  Units that were never
 * used take no memory.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "io/read.h"
#include "read/buffers.h"
#include "read/scan.h"

#define UNITS_PER_READ 16       /* number of units in a read of MAX_LEN bytes */

uint64_t
buffer_data_len (const struct buffer *buffer)
{
  uint64_t len = 0;

  for (unsigned i = 0; i < buffer->nr_ranges; i++)
    len += buffer->ranges[i].range.len;
  return len;
}

int
buffer_add_data (const struct buffer *buffer, struct scan *scan)
{
  const unsigned char *bytes = buffer->bytes;
  int err = 0;

  for (unsigned i = 0; i < buffer->nr_ranges && err == 0; i++) {
    const struct range *range = &buffer->ranges[i].range;

    err = scan_add_data (scan, bytes, range->len, range->offset);
    bytes += range->len;
  }
  return err;
}

int
buffers_init (struct buffers *buffers, size_t memory, size_t max_len)
{
  size_t unit = ROUND_UP (DIV_ROUND_UP (max_len, UNITS_PER_READ),
                          (size_t) READ_ALIGN);

  if (memory < max_len)
    memory = max_len;
  *buffers = (struct buffers) {
    .unit = unit, .units = DIV_ROUND_UP (memory, unit)
  };
  buffers->bytes = read_alloc (buffers->units * unit);
  buffers->used = calloc (buffers->units, 1);
  buffers->all = calloc (buffers->units, sizeof *buffers->all);
  return buffers->bytes && buffers->used && buffers->all ? 0 : ENOMEM;
}

void
buffers_destroy (struct buffers *buffers)
{
  free (buffers->all);
  free (buffers->used);
  free (buffers->bytes);
}

/* Returns the index of the first unit at which LEN bytes are free, or the
 * number of units if there is none.
 */
static size_t
find_free (const struct buffers *buffers, size_t len)
{
  size_t count = DIV_ROUND_UP (len, buffers->unit), start = 0;

  while (count <= buffers->units - start) {
    const unsigned char *used = memchr (buffers->used + start, 1, count);

    if (!used)
      return start;
    start = used + 1 - buffers->used;
  }
  return buffers->units;
}

struct buffer *
buffers_get (struct buffers *buffers, size_t len)
{
  size_t unit = find_free (buffers, len);
  struct buffer *buffer = &buffers->all[unit];

  if (unit == buffers->units)
    return NULL;
  memset (buffers->used + unit, 1, DIV_ROUND_UP (len, buffers->unit));
  buffers->in_use++;
  *buffer = (struct buffer) {
    .len = len, .bytes = buffers->bytes + unit * buffers->unit
  };
  return buffer;
}

bool
buffers_has (const struct buffers *buffers, size_t len)
{
  return find_free (buffers, len) < buffers->units;
}

void
buffers_shrink (struct buffers *buffers, struct buffer *buffer, size_t len)
{
  size_t first = buffer - buffers->all;
  size_t kept = DIV_ROUND_UP (len, buffers->unit);
  size_t had = DIV_ROUND_UP (buffer->len, buffers->unit);

  memset (buffers->used + first + kept, 0, had - kept);
  buffer->len = len;
}

void
buffers_free (struct buffers *buffers, struct buffer *buffer)
{
  buffers_shrink (buffers, buffer, 0);
  buffers->in_use--;
}

void
buffer_queue_init (struct buffer_queue *queue)
{
  *queue = (struct buffer_queue) { .last = &queue->first };
}

void
buffer_queue_push (struct buffer_queue *queue, struct buffer *buffer)
{
  buffer->next = NULL;
  *queue->last = buffer;
  queue->last = &buffer->next;
  queue->count++;
}

struct buffer *
buffer_queue_pop (struct buffer_queue *queue)
{
  struct buffer *buffer = queue->first;

  queue->first = buffer->next;
  if (!queue->first)
    queue->last = &queue->first;
  queue->count--;
  return buffer;
}

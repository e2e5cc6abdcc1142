/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The memory that reads go to, and the queue from what was read to who hashes
 * it.
 *
 * Memory is handed out in units, the lowest that are free first: a few short
 * reads need little of it, many of them can be in flight, and what was used
 * last, and is in a CPU's cache, is used next.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "read/queue.h"

#define MIN_UNIT 4096           /* bytes */
#define UNITS_PER_READ 16       /* of a read of MAX_LEN bytes */

int
queue_init (struct queue *queue, size_t memory, size_t max_len)
{
  size_t unit = (max_len + UNITS_PER_READ - 1) / UNITS_PER_READ;

  *queue = (struct queue) { .unit = unit < MIN_UNIT ? MIN_UNIT : unit };
  queue->last = &queue->first;
  pthread_mutex_init (&queue->lock, NULL);
  pthread_cond_init (&queue->has_memory, NULL);
  pthread_cond_init (&queue->has_buffer, NULL);

  if (memory < max_len)
    memory = max_len;
  queue->units = DIV_ROUND_UP (memory, queue->unit);
  queue->memory = malloc (queue->units * queue->unit);
  queue->buffers = calloc (queue->units, sizeof *queue->buffers);
  queue->used = calloc (queue->units, 1);
  return queue->memory && queue->buffers && queue->used ? 0 : ENOMEM;
}

void
queue_destroy (struct queue *queue)
{
  free (queue->used);
  free (queue->buffers);
  free (queue->memory);
  pthread_cond_destroy (&queue->has_buffer);
  pthread_cond_destroy (&queue->has_memory);
  pthread_mutex_destroy (&queue->lock);
}

/* ---- Memory ---- */

static size_t
units_for (const struct queue *queue, size_t len)
{
  return DIV_ROUND_UP (len, queue->unit);
}

/* The first of COUNT free units; queue->units if there are not as many. */
static size_t
find_free_locked (const struct queue *queue, size_t count)
{
  size_t start = 0;

  while (count <= queue->units - start) {
    const unsigned char *used = memchr (queue->used + start, 1, count);

    if (!used)
      return start;
    start = used + 1 - queue->used;
  }
  return queue->units;
}

struct buffer *
queue_get (struct queue *queue, size_t len)
{
  size_t count = units_for (queue, len), start;
  struct buffer *buffer;
  SCOPED_LOCK (&queue->lock);

  start = find_free_locked (queue, count);
  if (start == queue->units || queue->stopped)
    return NULL;
  memset (queue->used + start, 1, count);
  buffer = &queue->buffers[start];
  *buffer = (struct buffer) {
    .len = len, .bytes = queue->memory + start * queue->unit
  };
  return buffer;
}

void
queue_wait_memory (struct queue *queue, size_t len)
{
  size_t count = units_for (queue, len);
  SCOPED_LOCK (&queue->lock);

  while (find_free_locked (queue, count) == queue->units && !queue->stopped)
    pthread_cond_wait (&queue->has_memory, &queue->lock);
}

void
queue_free (struct queue *queue, struct buffer *buffer)
{
  SCOPED_LOCK (&queue->lock);

  memset (queue->used + (buffer - queue->buffers), 0,
          units_for (queue, buffer->len));
  pthread_cond_broadcast (&queue->has_memory);
}

/* ---- The queue ---- */

void
queue_put (struct queue *queue, struct buffer *buffer)
{
  SCOPED_LOCK (&queue->lock);

  buffer->next = NULL;
  *queue->last = buffer;
  queue->last = &buffer->next;
  queue->count++;
  pthread_cond_signal (&queue->has_buffer);
}

static struct buffer *
take_locked (struct queue *queue)
{
  struct buffer *buffer = queue->first;

  if (!buffer || queue->stopped)
    return NULL;
  queue->first = buffer->next;
  if (!queue->first)
    queue->last = &queue->first;
  queue->count--;
  return buffer;
}

struct buffer *
queue_take (struct queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  return queue->count > queue->waiting ? take_locked (queue) : NULL;
}

struct buffer *
queue_wait_buffer (struct queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  queue->waiting++;
  while (!queue->first && !queue->ended && !queue->stopped)
    pthread_cond_wait (&queue->has_buffer, &queue->lock);
  queue->waiting--;
  return take_locked (queue);
}

void
queue_end (struct queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  queue->ended = true;
  pthread_cond_broadcast (&queue->has_buffer);
}

void
queue_stop (struct queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  queue->stopped = true;
  pthread_cond_broadcast (&queue->has_memory);
  pthread_cond_broadcast (&queue->has_buffer);
}

bool
queue_is_stopped (struct queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  return queue->stopped;
}

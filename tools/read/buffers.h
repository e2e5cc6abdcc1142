/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The buffers that reads go to, and their memory.  One thread at a time.
 */

#ifndef BLKSUM_BUFFERS_H
#define BLKSUM_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/walk.h"

/* Of the thread that got or took it. */
struct buffer {
  struct buffer *next;          /* in a queue */
  struct walk_range place;      /* in the image */
  unsigned char *bytes;         /* aligned for direct I/O */
  size_t len;                   /* of the memory, bytes */
  uint64_t start;               /* of the read, ns */
  uint64_t waited, busy;        /* ns since then: see depth.h */
  /* For NBD. */
  void *owner;
  size_t asked;                 /* bytes of LEN that requests were sent for, */
  size_t answered;              /* that were replied to, */
  size_t seen;                  /* and that have arrived */
};

struct buffers {
  unsigned char *bytes;
  size_t unit, units;           /* bytes, and how many */
  unsigned char *used;          /* UNITS, 0 or 1 */
  struct buffer *all;           /* UNITS, by the unit each starts at */
  unsigned in_use;
};

/* MEMORY bytes for buffers of up to MAX_LEN bytes, one at least.  0 or a
 * positive errno; destroy them in any case.
 */
int buffers_init (struct buffers *buffers, size_t memory, size_t max_len);
void buffers_destroy (struct buffers *buffers);

/* One of LEN bytes, or NULL if there is no memory for it now. */
struct buffer *buffers_get (struct buffers *buffers, size_t len);

/* Could it be had? */
bool buffers_has (const struct buffers *buffers, size_t len);

/* BUFFER needs only LEN bytes, not more than it has. */
void buffers_shrink (struct buffers *buffers, struct buffer *buffer,
                     size_t len);

void buffers_free (struct buffers *buffers, struct buffer *buffer);

#endif /* BLKSUM_BUFFERS_H */

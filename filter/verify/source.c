/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read from the plugin, within its block size constraints.
 *
 * Reads are extended to multiples of the minimum block size, and split at the
 * maximum.  An extended read needs a buffer of its own, but it is rare: the
 * block size of a manifest is usually a multiple of that minimum.
 */

#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "verify/source.h"

#define MAX_READ (32 * 1024 * 1024) /* bytes; a plugin accepts this size
                                    * unless it has a smaller maximum */

int
source_init (struct source *source, nbdkit_next *next)
{
  int64_t size = next->get_size (next);
  uint32_t min, preferred, max;

  if (size == -1 || next->block_size (next, &min, &preferred, &max) == -1)
    return -1;
  source->size = size;
  source->min = min ? min : 1;
  source->max = ROUND_DOWN (MIN (max ? max : MAX_READ, MAX_READ), source->min);
  source->max = MAX (source->max, source->min);
  return 0;
}

/* Read an aligned range. */
static int
read_aligned (const struct source *source, nbdkit_next *next,
              void *buf, size_t len, uint64_t offset, int *err)
{
  while (len > 0) {
    uint32_t n = MIN (len, source->max);

    if (next->pread (next, buf, n, offset, 0, err) == -1)
      return -1;
    buf = (char *) buf + n;
    len -= n;
    offset += n;
  }
  return 0;
}

int
source_read (const struct source *source, nbdkit_next *next,
             void *buf, size_t len, uint64_t offset, int *err)
{
  uint64_t min = source->min, start = ROUND_DOWN (offset, min);
  uint64_t end = MIN (ROUND_UP (offset + len, min), source->size);
  char *wide;
  int r;

  if (start == offset && end == offset + len)
    return read_aligned (source, next, buf, len, offset, err);
  wide = malloc (end - start);
  if (!wide) {
    nbdkit_error ("blkhash-verify: %m");
    *err = ENOMEM;
    return -1;
  }
  r = read_aligned (source, next, wide, end - start, start, err);
  if (r == 0)
    memcpy (buf, wide + (offset - start), len);
  free (wide);
  return r;
}

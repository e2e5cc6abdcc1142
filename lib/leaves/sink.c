/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pass leaves, in order, to the callbacks of a program.
 *
 * A run of zeros is held back until its end is known, or sink_end is called.
 * leaves-fold.c calls sink_end within a run only if no sum is computed.
 * Otherwise the calls for zeros depend only on the image, and not on the order
 * in which its parts were hashed.  Leaves of data are passed as they come.
 */

#include <config.h>

#include "leaves/sink.h"

void
sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
           size_t leaf_size)
{
  *sink = (struct sink) { .leaf_size = leaf_size };
  if (user)
    sink->user = *user;
}

bool
sink_is_used (const struct sink *sink)
{
  return sink->user.data != NULL;
}

bool
sink_has_zeros (const struct sink *sink)
{
  return sink->zeros > 0;
}

int
sink_end (struct sink *sink)
{
  uint64_t zeros = sink->zeros;

  sink->zeros = 0;
  if (zeros == 0 || !sink_is_used (sink))
    return 0;
  return sink->user.zero (sink->user.opaque, sink->next - zeros, zeros);
}

int
sink_data (struct sink *sink, const unsigned char *leaves, size_t count)
{
  uint64_t index = sink->next;
  int err = sink_end (sink);

  sink->next += count;
  if (err || !sink_is_used (sink))
    return err;
  return sink->user.data (sink->user.opaque, index, count, leaves,
                          sink->leaf_size);
}

int
sink_zeros (struct sink *sink, uint64_t count)
{
  sink->next += count;
  sink->zeros += count;
  return 0;
}

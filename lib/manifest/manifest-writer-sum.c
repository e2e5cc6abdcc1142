/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compute the sum in the end record of a manifest from the leaves that were
 * written.
 */

#include <config.h>

#include <errno.h>
#include <stddef.h>

#include "manifest/manifest-sum.h"
#include "manifest/manifest-writer.h"
#include "manifest/manifest-zeros.h"

/* The last block of a run of zeros is added to the sum only when more blocks
 * follow, or at the end: while the size of the image is unknown, it may be the
 * short last block of the image, which has a different leaf.
 */
int
manifest_writer_sum_zeros (struct blkhash_manifest_writer *w, uint64_t count)
{
  if (!w->sum)
    return 0;
  count -= !w->zero_last;
  w->zero_last = true;
  return count > 0 ? manifest_sum_zeros (w->sum, count) : 0;
}

static int
sum_last_zero (struct blkhash_manifest_writer *w)
{
  if (!w->sum || !w->zero_last)
    return 0;
  w->zero_last = false;
  return manifest_sum_zeros (w->sum, 1);
}

int
manifest_writer_sum_data (struct blkhash_manifest_writer *w,
                          const unsigned char *leaves, size_t count)
{
  int err = sum_last_zero (w);

  return err || !w->sum ? err : manifest_sum_leaves (w->sum, leaves, count);
}

static int
init_zeros (struct blkhash_manifest_writer *w, uint64_t size)
{
  int err = manifest_zeros_init (&w->zeros_leaves, &w->opts, size);

  return err ? err : manifest_zeros_hash (&w->zeros_leaves);
}

/* Called at the end, when the size is known. */
int
manifest_writer_sum_final (struct blkhash_manifest_writer *w, unsigned char *md)
{
  uint64_t size = w->header.size;
  int err = 0;

  if (!w->sum)
    return 0;
  if (w->header_last && w->zero_last)
    err = init_zeros (w, size);
  if (err == 0)
    err = sum_last_zero (w);
  return err ? err : manifest_sum_final (w->sum, size, md);
}

/* While the size is unknown, only the leaf of a full block of zeros is needed.
 */
int
manifest_writer_sum_begin (struct blkhash_manifest_writer *w)
{
  int err = init_zeros (w, w->header_last ? 0 : w->header.size);

  if (err)
    return err;
  w->sum = manifest_sum_create (&w->opts, &w->zeros_leaves);
  return w->sum ? 0 : errno;
}

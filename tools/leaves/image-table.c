/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an image into a leaf table: the source reads the ranges that are
 * missing.
 */

#include <config.h>

#include <stddef.h>
#include <string.h>

#include "blkhash.h"

#include "leaves/image-table.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"
#include "util/progress.h"
#include "util/result.h"

_Static_assert (SOURCE_SIZE_UNKNOWN == BLKHASH_SIZE_UNKNOWN &&
                SOURCE_SIZE_UNKNOWN == PROGRESS_NO_SIZE,
                "a size that is not known is the same everywhere");

/* Fold the complete table. */
static int
fold (struct blkhash_leaves *leaves, const struct scan *scan, struct sum *sum,
      struct error *error)
{
  uint64_t data, zero;
  int err = blkhash_leaves_fold (leaves, sum->md, &sum->md_len);

  if (err)
    return error_errno (error, err, "cannot hash");
  blkhash_leaves_count (leaves, &data, &zero);
  sum->size = data + zero;
  sum->data = data;
  sum->zero = zero - scan->hole;
  sum->hole = scan->hole;
  sum->read = scan->read;
  return 0;
}

int
image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                  const struct scan_request *request, struct sum *sum,
                  struct error *error)
{
  struct scan scan;
  int r;

  scan_init (&scan, leaves, blkhash_opts_get_block_size (request->opts));
  scan.request = *request;
  scan.first = &source->first;
  /* If an empty image is padded, there is nothing to read: the table has only
   * the padding, which the caller has set.
   */
  r = request->padding.to_unit > 0 && source->size == 0
    ? 0 : source_scan (source, &scan);
  if (r == -1)
    *error = scan.error;
  else if (fold (leaves, &scan, sum, error) == -1 ||
           source_check_unchanged (source, error) == -1)
    r = -1;
  memcpy (sum->format, source->format, sizeof sum->format);
  sum->first = source->first;
  scan_destroy (&scan);
  return r;
}

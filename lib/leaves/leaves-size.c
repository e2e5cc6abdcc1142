/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: an image whose size becomes known only after its content.
 *
 * While the size is unknown, the image has the maximum size, UINT64_MAX bytes.
 * A size is refused if a range that was given or observed ends after it.  So
 * setting the size affects no call in progress, and no block but the last.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"
#include "common/cleanup.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"

/* Record the end of a range that is given or observed, or truncate a range to
 * forget.  Returns false, and does nothing, if the size has become known.
 */
static bool
enter_unknown (struct blkhash_leaves *l, enum leaves_op op, uint64_t offset,
               uint64_t *len)
{
  uint64_t end = offset + *len;
  SCOPED_LOCK (&l->lock);

  if (l->size_known)
    return false;
  if (op != FORGET) {
    if (l->given_end < end && *len > 0)
      l->given_end = end;
  }
  else if (offset >= l->given_end)
    *len = 0;
  else if (end > l->given_end)
    *len = l->given_end - offset;
  return true;
}

int
leaves_enter_range (struct blkhash_leaves *l, enum leaves_op op,
                    uint64_t offset, uint64_t *len)
{
  if (offset > UINT64_MAX - *len)
    return EINVAL;
  if (!l->size_known && enter_unknown (l, op, offset, len))
    return 0;
  return offset + *len > l->size ? EINVAL : 0;
}

void
leaves_init_size (struct blkhash_leaves *l, uint64_t size)
{
  l->blocks = size / l->block_size + (size % l->block_size != 0);
  l->size = size;
  l->size_known = size != BLKHASH_SIZE_UNKNOWN;
}

int
blkhash_leaves_set_size (struct blkhash_leaves *l, uint64_t size)
{
  {
    SCOPED_LOCK (&l->lock);

    if (l->size_known || size < l->given_end)
      return EINVAL;
    if (l->error)
      return l->error;
    leaves_init_size (l, size);
    l->size_known = true;       /* even if SIZE is UINT64_MAX */
    leaf_tree_set_blocks (l->tree, l->blocks);
  }
  return size % l->block_size ? leaves_end_piece (l, size / l->block_size) : 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Judge a list of changed ranges by the blocks that differ.
 *
 * The ranges and the blocks are sorted, so one pass over both is enough.  The
 * superfluous ranges are moved to the start of the list, where they overwrite
 * ranges that are not needed any more, so no memory is allocated.
 *
 * Only the leaves of blocks are compared.  So if a range touches a block that
 * differs, it is not known whether the bytes that differ are in the range, and
 * the range does not count as superfluous.
 */

#include <config.h>

#include "changes/judge.h"
#include "changes/list.h"
#include "util/changes-file.h"
#include "util/error.h"
#include "util/ranges.h"

int
judge_begin (struct judge *judge, const struct changes_file *file,
             uint64_t size, uint64_t *nr_ranges, struct error *error)
{
  if (changes_read (file, size, judge->ranges, error) == -1)
    return -1;
  if (judge->ranges->widened)
    return error_about (error, file->path, "it has more than %zu ranges, too "
                        "many to judge", RANGES_MAX);
  *nr_ranges = judge->ranges->count;
  return 0;
}

static uint64_t
first_block (const struct judge *judge, size_t i)
{
  return judge->ranges->items[i].start / judge->block_size;
}

/* Returns the block after the last one that range I touches. */
static uint64_t
end_block (const struct judge *judge, size_t i)
{
  const struct ranges_item *range = &judge->ranges->items[i];

  return (range->start + (range->len - 1)) / judge->block_size + 1;
}

/* Pass range judge->next: all following blocks that differ are after it.  If it
 * has touched no block that differs, it is superfluous, and is moved to the
 * start of the list.  Otherwise it is not needed any more.
 */
static void
pass_range (struct judge *judge)
{
  struct ranges_item *items = judge->ranges->items;

  if (judge->next >= judge->untouched)
    items[judge->superfluous++] = items[judge->next];
  judge->next++;
}

int
judge_blocks (struct judge *judge, uint64_t first, uint64_t count)
{
  size_t i, nr_ranges = judge->ranges->count;
  uint64_t end = first + count;
  int err = 0;

  while (judge->next < nr_ranges && end_block (judge, judge->next) <= first)
    pass_range (judge);
  for (i = judge->next; i < nr_ranges && first_block (judge, i) < end; i++) {
    uint64_t start = first_block (judge, i);

    if (start > first && err == 0)
      err = judge->missed (judge->opaque, first, start - first);
    if (end_block (judge, i) > first)
      first = end_block (judge, i);
  }
  if (i > judge->untouched)
    judge->untouched = i;
  if (first < end && err == 0)
    err = judge->missed (judge->opaque, first, end - first);
  return err;
}

void
judge_end (struct judge *judge)
{
  while (judge->next < judge->ranges->count)
    pass_range (judge);
  judge->ranges->count = judge->superfluous;
}

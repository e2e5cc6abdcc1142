/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ as a domain mapfile of GNU
 * ddrescue: "+" is what ddrescue copies with -m, "?" is the rest.
 *
 * ddrescue must not use the output of a comparison that failed.  With an empty
 * mapfile it would copy nothing, and succeed, as with an empty domain.  So a
 * part of the status line is printed before the comparison: ddrescue refuses a
 * mapfile that ends there.  The rest is printed when all ranges are known,
 * because a mapfile that ends between two ranges is valid.
 *
 * If there are too many ranges, the gaps between some of them are added (see
 * ranges.h), and ddrescue copies some bytes that do not differ.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>

#include "../lib/common/mapfile.h"
#include "cli/domain.h"
#include "util/ranges.h"

int
domain_begin (bool is_partial)
{
  errno = 0;
  if (fputs (is_partial ? MAPFILE_SIGNATURE ("blkhash, of a part")
                        : MAPFILE_SIGNATURE ("blkhash"), stdout) == EOF ||
      fputs (MAPFILE_STATUS_BEGIN, stdout) == EOF || fflush (stdout) == EOF)
    return errno ? errno : EIO;
  return 0;
}

void
domain_end (struct ranges *ranges, uint64_t size)
{
  uint64_t end = 0;
  size_t i;

  ranges_sort (ranges);
  fputs (MAPFILE_STATUS_END ("+"), stdout);
  for (i = 0; i < ranges->count; i++) {
    const struct ranges_item *range = &ranges->items[i];

    if (range->start > end)
      mapfile_print_range (stdout, end, range->start - end, MAPFILE_NOT_TRIED);
    mapfile_print_range (stdout, range->start, range->len, MAPFILE_FINISHED);
    end = range->start + range->len;
  }
  if (end < size)
    mapfile_print_range (stdout, end, size - end, MAPFILE_NOT_TRIED);
}

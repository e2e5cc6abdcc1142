/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where two images differ, as lines or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/difference.h"
#include "cli/options.h"

static void
print_json (const struct difference *difference)
{
  size_t i;

  putchar ('[');
  for (i = 0; i < difference->nr_ranges; i++)
    printf ("%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
            i ? ", " : "", difference->ranges[i].start,
            difference->ranges[i].length);
  puts ("]");
}

static void
print_lines (const struct difference *difference)
{
  size_t i;

  if (difference->size[0] != difference->size[1])
    printf ("The sizes differ: %" PRIu64 " and %" PRIu64 " bytes.\n",
            difference->size[0], difference->size[1]);
  for (i = 0; i < difference->nr_ranges; i++)
    printf ("At %" PRIu64 ": %" PRIu64 " bytes differ.\n",
            difference->ranges[i].start, difference->ranges[i].length);
  if (!difference->differ)
    puts ("The images are identical.");
}

int
difference_print (const struct options *options,
                  const struct difference *difference)
{
  if (options->form == OUTPUT_JSON)
    print_json (difference);
  else
    print_lines (difference);
  errno = 0;
  if (fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

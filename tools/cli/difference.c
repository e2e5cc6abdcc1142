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

static bool
is_cut (const struct options *options)
{
  return options->source.size != SOURCE_WHOLE;
}

static void
print_json_ranges (const struct difference *difference)
{
  size_t i;

  putchar ('[');
  for (i = 0; i < difference->nr_ranges; i++)
    printf ("%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
            i ? ", " : "", difference->ranges[i].start,
            difference->ranges[i].length);
  putchar (']');
}

/* A list, as other programs print it, unless there is more to tell. */
static void
print_json (const struct options *options,
            const struct difference *difference)
{
  if (!is_cut (options)) {
    print_json_ranges (difference);
    putchar ('\n');
    return;
  }
  printf ("{\"size\": %" PRIu64 ", \"differences\": ",
          difference->size[0]);
  print_json_ranges (difference);
  fputs (", \"follows\": [", stdout);
  follows_print_json (&difference->follows[0]);
  fputs (", ", stdout);
  follows_print_json (&difference->follows[1]);
  puts ("]}");
}

/* 0, or an errno value. */
static int
print_lines (const struct options *options,
             const struct difference *difference)
{
  size_t i;
  int err = 0;

  if (difference->size[0] != difference->size[1])
    printf ("The sizes differ: %" PRIu64 " and %" PRIu64 " bytes.\n",
            difference->size[0], difference->size[1]);
  for (i = 0; i < difference->nr_ranges; i++)
    printf ("At %" PRIu64 ": %" PRIu64 " bytes differ.\n",
            difference->ranges[i].start, difference->ranges[i].length);
  if (!difference->differ && is_cut (options))
    printf ("The first %" PRIu64 " bytes are identical.\n",
            difference->size[0]);
  else if (!difference->differ)
    puts ("The images are identical.");
  for (i = 0; is_cut (options) && i < 2 && err == 0; i++)
    err = follows_print (options->operands[i], &difference->follows[i]);
  return err;
}

int
difference_print (const struct options *options,
                  const struct difference *difference)
{
  int err = 0;

  if (options->form == OUTPUT_JSON)
    print_json (options, difference);
  else
    err = print_lines (options, difference);
  if (err)
    return err;
  errno = 0;
  if (fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where two images differ, as lines or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/difference.h"
#include "cli/options.h"

void
difference_destroy (struct difference *difference)
{
  free (difference->ranges);
  free (difference->manifest_sum);
}

static uint64_t
larger_size (const struct difference *difference)
{
  return difference->size[0] > difference->size[1] ? difference->size[0]
                                                   : difference->size[1];
}

/* Of a subset what follows is not looked at. */
static bool
has_follows (const struct options *options)
{
  return options->source.size != SOURCE_WHOLE && options->subset.n == 0;
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
  const struct subset *subset = &options->subset;
  uint64_t size = larger_size (difference);

  if (!has_follows (options) && subset->n == 0) {
    print_json_ranges (difference);
    putchar ('\n');
    return;
  }
  printf ("{\"size\": %" PRIu64, size);
  if (subset->n > 0)
    printf (", \"subset\": \"%" PRIu32 "/%" PRIu32 "\", \"compared\": %"
            PRIu64, subset->k, subset->n, subset_bytes (subset, size));
  fputs (", \"differences\": ", stdout);
  print_json_ranges (difference);
  if (has_follows (options)) {
    fputs (", \"follows\": [", stdout);
    follows_print_json (&difference->follows[0]);
    fputs (", ", stdout);
    follows_print_json (&difference->follows[1]);
    putchar (']');
  }
  puts ("}");
}

/* What was looked at, and that no more is said of the images than that. */
static void
print_subset (const struct options *options,
              const struct difference *difference)
{
  const struct subset *subset = &options->subset;
  uint64_t size = larger_size (difference);
  char part[64];

  subset_describe (subset, size, part, sizeof part);
  printf ("%s %s, subset %" PRIu32 "/%" PRIu32 ".\n",
          difference->nr_ranges > 0 ? "Compared:"
          : size > 0 && subset_bytes (subset, size) == 0
          ? "Nothing to compare:" : "No difference in",
          part, subset->k, subset->n);
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
  if (options->subset.n > 0)
    print_subset (options, difference);
  else if (!difference->differ && has_follows (options))
    printf ("The first %" PRIu64 " bytes are identical.\n",
            difference->size[0]);
  else if (!difference->differ)
    puts ("The images are identical.");
  for (i = 0; has_follows (options) && i < 2 && err == 0; i++)
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ, as lines, JSON or a mapfile.
 * With --changed, print only the differences that the list of changed ranges
 * misses, and then the superfluous ranges of that list, in which nothing
 * differs: each of them as JSON, or their number and total size in a line.
 *
 * The JSON of a comparison that fails is not terminated, so that it is invalid,
 * and not mistaken for a complete result.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/difference.h"
#include "cli/domain.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verdict.h"
#include "util/result.h"

/* Returns the size of the larger image, or UINT64_MAX while the size of a pipe
 * is not known.
 */
static uint64_t
larger_size (const struct difference *difference)
{
  return difference->size[0] > difference->size[1] ? difference->size[0]
                                                   : difference->size[1];
}

/* Returns true if the JSON is only an array of ranges: the form that --changed
 * reads.
 */
static bool
is_list (const struct options *options)
{
  return options->hash.source.size == SOURCE_WHOLE &&
    options->verify.subset.n == 0 && !options->update.changed.path;
}

/* ---- JSON ---- */

/* The size is printed only with --size, --subset or --changed.  So it is known
 * before the comparison: --size sets it, and the other two refuse pipes.
 */
static void
begin_json (const struct options *options,
            const struct difference *difference)
{
  const struct subset *subset = &options->verify.subset;
  uint64_t size = larger_size (difference);

  if (!is_list (options)) {
    printf ("{\"size\": %" PRIu64, size);
    if (subset->n > 0)
      printf (", \"subset\": \"%" PRIu32 "/%" PRIu32 "\", \"compared\": %"
              PRIu64, subset->k, subset->n, subset_bytes (subset, size));
    if (options->update.changed.path)
      printf (", \"ranges\": %" PRIu64 ", \"missed\": ",
              difference->nr_listed);
    else
      fputs (", \"differences\": ", stdout);
  }
  putchar ('[');
}

static void
print_json_range (bool is_first, uint64_t start, uint64_t length)
{
  printf ("%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
          is_first ? "" : ", ", start, length);
}

static void
print_superfluous_json (const struct ranges *ranges)
{
  size_t i;

  fputs (", \"superfluous\": [", stdout);
  for (i = 0; i < ranges->count; i++)
    print_json_range (i == 0, ranges->items[i].start, ranges->items[i].len);
  putchar (']');
}

static void
end_json (const struct options *options, const struct difference *difference)
{
  if (difference->nr_ranges == 0)
    begin_json (options, difference);
  putchar (']');
  if (options->update.changed.path)
    print_superfluous_json (&difference->superfluous);
  puts (is_list (options) ? "" : "}");
}

/* ---- Lines ---- */

/* Print the sizes if they differ, as soon as both are known: the size of a pipe
 * is known only at its end.
 */
static void
print_sizes (struct difference_output *output,
             const struct difference *difference)
{
  if (output->sizes_printed ||
      difference->size[0] == difference->size[1] ||
      larger_size (difference) == UINT64_MAX)
    return;
  printf ("The sizes differ: %" PRIu64 " and %" PRIu64 " bytes.\n",
          difference->size[0], difference->size[1]);
  output->sizes_printed = true;
}

/* Print the compared subset, because the result is valid only for it. */
static void
print_subset (const struct subset *subset,
              const struct difference *difference)
{
  uint64_t size = larger_size (difference);
  char part[64];

  subset_describe (subset, size, part, sizeof part);
  printf ("%s %s, subset %" PRIu32 "/%" PRIu32 ".\n",
          difference->nr_ranges > 0 ? "Compared:"
          : size > 0 && subset_bytes (subset, size) == 0
          ? "Nothing to compare:" : "No difference in",
          part, subset->k, subset->n);
}

static void
print_judgement (const struct difference *difference)
{
  const struct ranges *superfluous = &difference->superfluous;

  if (!difference->differ)
    puts ("All that differs is in the list.");
  printf ("Superfluous: %zu of %" PRIu64 " ranges, %" PRIu64 " bytes.\n",
          superfluous->count, difference->nr_listed,
          ranges_bytes (superfluous));
}

/* Returns 0, or an errno value. */
static int
end_lines (struct difference_output *output,
           const struct difference *difference)
{
  const struct options *options = output->options;
  int i, err = 0;

  print_sizes (output, difference);
  if (options->update.changed.path)
    print_judgement (difference);
  else if (options->verify.subset.n > 0)
    print_subset (&options->verify.subset, difference);
  else if (!difference->differ &&
           options->hash.source.size != SOURCE_WHOLE)
    printf ("The first %" PRIu64 " bytes are identical.\n",
            difference->size[0]);
  else if (!difference->differ)
    puts ("The images are identical.");
  for (i = 0; i < 2 && err == 0; i++)
    err = verdict_print_trailing (options->operands[i],
                                  difference->trailing[i]);
  return err;
}

/* ---- All forms ---- */

static void
print_range (struct difference_output *output,
             const struct difference *difference, uint64_t start,
             uint64_t length)
{
  const struct options *options = output->options;
  bool is_first = difference->nr_ranges == 1;

  if (options->form != OUTPUT_JSON) {
    print_sizes (output, difference);
    printf ("At %" PRIu64 ": %" PRIu64 " bytes differ%s.\n", start, length,
            options->update.changed.path
            ? ", and are not in the list" : "");
    return;
  }
  if (is_first)
    begin_json (options, difference);
  print_json_range (is_first, start, length);
}

int
difference_begin (const struct difference_output *output)
{
  return output->options->form == OUTPUT_MAPFILE ? domain_begin () : 0;
}

int
difference_range (void *opaque, const struct difference *difference,
                  uint64_t start, uint64_t length)
{
  struct difference_output *output = opaque;

  if (output->options->form == OUTPUT_MAPFILE)
    return ranges_add (&output->ranges, start, length);
  progress_hide ();
  errno = 0;
  print_range (output, difference, start, length);
  output->error = ferror (stdout) ? errno ? errno : EIO : 0;
  progress_show ();
  return output->error;
}

int
difference_end (struct difference_output *output,
                const struct difference *difference)
{
  int err = 0;

  errno = 0;
  if (output->options->form == OUTPUT_JSON)
    end_json (output->options, difference);
  else if (output->options->form == OUTPUT_MAPFILE)
    domain_end (&output->ranges, larger_size (difference));
  else
    err = end_lines (output, difference);
  if (err)
    return err;
  if (fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ, as lines, JSON or a mapfile.
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
    options->part.n == 0;
}

/* ---- JSON ---- */

/* The size is printed only with --size or --part.  So it is known before the
 * comparison: --size sets it, and --part refuses pipes.
 */
static void
begin_json (const struct options *options,
            const struct difference *difference)
{
  const struct part *part = &options->part;
  uint64_t size = larger_size (difference);

  if (!is_list (options)) {
    printf ("{\"size\": %" PRIu64, size);
    if (part->n > 0)
      printf (", \"part\": \"%" PRIu32 "/%" PRIu32 "\", \"compared-bytes\": %"
              PRIu64, part->i, part->n, difference->part_bytes);
    fputs (", \"differences\": ", stdout);
  }
  putchar ('[');
}

static void
end_json (const struct options *options, const struct difference *difference)
{
  if (difference->nr_ranges == 0)
    begin_json (options, difference);
  putchar (']');
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

/* Print the compared part, because the result is valid only for it. */
static void
print_part (const struct part *part, const struct difference *difference)
{
  char text[PART_TEXT_SIZE];

  part_describe (part, difference->part_bytes, difference->size[0], text);
  printf ("%s %s.\n",
          difference->differ ? "Compared" : "No difference in", text);
}

/* Returns 0, or an errno value. */
static int
end_lines (struct difference_output *output,
           const struct difference *difference)
{
  const struct options *options = output->options;
  int i, err = 0;

  print_sizes (output, difference);
  if (options->part.n > 0)
    print_part (&options->part, difference);
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
    printf ("At %" PRIu64 ": %" PRIu64 " bytes differ.\n", start, length);
    return;
  }
  if (is_first)
    begin_json (options, difference);
  printf ("%s{\"start\": %" PRIu64 ", \"length\": %" PRIu64 "}",
          is_first ? "" : ", ", start, length);
}

int
difference_begin (const struct difference_output *output)
{
  const struct options *options = output->options;

  return options->form == OUTPUT_MAPFILE
    ? domain_begin (options->part.n > 0) : 0;
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

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the sum of one source: as a line like that of sha256sum, as a tagged
 * line, or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "blkhash.h"

#include "../lib/common/json-string.h"
#include "../lib/common/sum-line.h"
#include "cli/output.h"
#include "cli/program.h"
#include "util/error.h"
#include "util/part.h"
#include "util/result.h"

/* ---- JSON ---- */

/* An object is printed member by member, and not by json-c, which, if there is
 * no memory, prints null or omits a part of the text.  After a write error
 * the closing brace is not printed, so that a truncated object is invalid.
 */

/* Print a member, and before it a comma, unless it is the FIRST. */
static void
print_string (const char *key, const char *value, bool first)
{
  printf ("%s\"%s\":", first ? "" : ",", key);
  json_string (stdout, value);
}

static void
print_number (const char *key, uint64_t value)
{
  printf (",\"%s\":%" PRIu64, key, value);
}

/* Returns true if the next member is the first one. */
static bool
begin_json (const struct output_options *options, const char *name)
{
  putchar ('{');
  if (!options->no_names)
    print_string ("name", name, true);
  return options->no_names;
}

void
output_result (int status)
{
  static const char *const words[] = { "ok", "differs", "unknown" };

  print_string ("result", words[status], false);
  if (!ferror (stdout))
    putchar ('}');
}

static void
print_json (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  bool first = begin_json (options, name);
  char text[SUM_TEXT_SIZE];

  sum_line_text (hash, sum->md, text);
  print_string ("sum", text, first);
  print_string ("format", sum->format, false);
  print_number ("size", sum->size);
  print_number ("data-bytes", sum->data);
  print_number ("zero-bytes", sum->zero);
  print_number ("hole-bytes", sum->hole);
  if (sum->incremental)
    print_number ("read-bytes", sum->read);
  printf (",\"seconds\":%.6f", sum->seconds);
  output_result (EXIT_SUCCESS);
}

/* ---- Lines and JSON ---- */

/* Returns 0, or ENOMEM. */
static int
print_line (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  char *line = sum_line (hash, sum->md, sum->md_len,
                         options->no_names ? NULL : name, options->tag,
                         !options->zero);

  if (!line)
    return ENOMEM;
  fputs (line, stdout);
  free (line);
  return 0;
}

/* Only the call that fails sets errno, and which call that is depends on when
 * the C library flushes.  So errno is cleared before the first call.
 */
int
output_sum (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  const char end = options->zero ? '\0' : '\n';

  errno = 0;
  if (options->form == OUTPUT_JSON)
    print_json (options, name, hash, sum);
  else if (print_line (options, name, hash, sum) != 0)
    return ENOMEM;
  if (ferror (stdout) || putchar (end) == EOF || fflush (stdout) == EOF)
    return errno ? errno : EIO;
  return 0;
}

static void
end_line (void)
{
  if (ferror (stdout) || putchar ('\n') == EOF || fflush (stdout) == EOF)
    report_write_failed (errno ? errno : EIO);
}

void
output_failure (const struct output_options *options, const char *name,
                const struct error *error, int status)
{
  report (name, error);
  if (options->form != OUTPUT_JSON)
    return;
  errno = 0;
  print_string ("error", error->text, begin_json (options, name));
  output_result (status);
  end_line ();
}

void
output_verdict (const char *name, const struct expect_result *verified,
                const struct part *part, const struct error *error, int status)
{
  errno = 0;
  putchar ('{');
  print_string ("name", name, true);
  if (verified && *verified->sum)
    print_string ("sum", verified->sum, false);
  if (verified && *verified->expected)
    print_string ("expected", verified->expected, false);
  if (part->n > 0) {
    printf (",\"part\":\"%" PRIu32 "/%" PRIu32 "\"", part->i, part->n);
    print_number ("compared-bytes", verified ? verified->compared_bytes : 0);
  }
  if (error)
    print_string ("error", error->text, false);
  output_result (status);
  end_line ();
}

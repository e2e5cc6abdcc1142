/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each range is printed when the repair of its blocks has succeeded or failed,
 * so that memory use here does not depend on the number of ranges.  If the
 * whole repair fails, the JSON is not terminated.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "../lib/common/json-string.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/repaired.h"
#include "cli/report.h"
#include "cli/verdict.h"
#include "util/error.h"
#include "util/result.h"

bool
repaired_all (const struct repair_result *result)
{
  return result->blocks[REPAIR_POSSIBLE] == 0 &&
    result->blocks[REPAIR_IMPOSSIBLE] == 0 &&
    result->blocks[REPAIR_UNALIGNED] == 0 &&
    result->blocks[REPAIR_FAILED] == 0;
}

/* ---- JSON ---- */

static const char *const words[REPAIR_STATES] = {
  [REPAIR_DONE] = "repaired",
  [REPAIR_POSSIBLE] = "repairable",
  [REPAIR_IMPOSSIBLE] = "bad",
  [REPAIR_UNALIGNED] = "unaligned",
  [REPAIR_FAILED] = "failed",
};

static void
begin_json (struct repaired_output *output)
{
  fputs ("{\"name\":", stdout);
  json_string (stdout, output->options->operands[0]);
  fputs (",\"blocks\":[", stdout);
  output->begun = true;
}

static void
print_json_range (struct repaired_output *output,
                  const struct repair_range *range)
{
  bool is_first = !output->begun;

  if (is_first)
    begin_json (output);
  printf ("%s{\"start\":%" PRIu64 ",\"length\":%" PRIu64 ",\"state\":"
          "\"%s\"}", is_first ? "" : ",", range->start, range->length,
          words[range->state]);
}

static void
end_json (struct repaired_output *output, const struct repair_result *result)
{
  unsigned i;

  if (!output->begun)
    begin_json (output);
  printf ("],\"block-size\":%" PRIu32, result->block_size);
  for (i = 0; i < REPAIR_STATES; i++)
    printf (",\"%s\":%" PRIu64, words[i], result->blocks[i]);
  printf (",\"verdict\":\"%s\"}\n", repaired_all (result) ? "OK" : "FAILED");
}

/* ---- Lines ---- */

/* Ranges that are repaired or repairable are not reported. */
static const char *const reasons[REPAIR_STATES] = {
  [REPAIR_IMPOSSIBLE] = "are bad, and no source has them",
  [REPAIR_UNALIGNED] = "are bad, and cannot be written directly: they are "
                       "not whole units of direct I/O",
  [REPAIR_FAILED] = "were written, and are still bad: the storage is failing",
};

static void
report_bad (const struct repaired_output *output,
            const struct repair_range *range)
{
  struct error error = { "" };

  if (!reasons[range->state])
    return;
  error_set (&error, "%" PRIu64 " bytes at %" PRIu64 " %s", range->length,
             range->start, reasons[range->state]);
  report (output->options->operands[0], &error);
}

/* Room for the largest number with the longest word, for each state. */
#define LINE_SIZE \
  (sizeof "FAILED ()" + \
   REPAIR_STATES * sizeof ", 18446744073709551615 blocks repairable")

/* Print a line such as "FAILED (2 blocks repaired, 1 bad)". */
static int
print_line (const struct repaired_output *output,
            const struct repair_result *result)
{
  const char *verdict = repaired_all (result) ? "OK" : "FAILED";
  char text[LINE_SIZE];
  int len = snprintf (text, sizeof text, "%s", verdict);
  const char *before = " (";
  unsigned i;

  for (i = 0; i < REPAIR_STATES; i++) {
    uint64_t count = result->blocks[i];

    if (count == 0)
      continue;
    len += snprintf (text + len, sizeof text - len, "%s%" PRIu64 "%s %s",
                     before, count, before[0] == ',' ? ""
                     : count == 1 ? " block" : " blocks", words[i]);
    before = ", ";
  }
  if (before[0] == ',')
    snprintf (text + len, sizeof text - len, ")");
  return verdict_print (output->options->operands[0], text);
}

/* ---- Both forms ---- */

int
repaired_range (void *opaque, const struct repair_range *range)
{
  struct repaired_output *output = opaque;

  progress_hide ();
  errno = 0;
  if (output->options->form == OUTPUT_JSON)
    print_json_range (output, range);
  else
    report_bad (output, range);
  output->error = ferror (stdout) ? errno ? errno : EIO : 0;
  progress_show ();
  return output->error;
}

int
repaired_end (struct repaired_output *output,
              const struct repair_result *result)
{
  if (output->options->form != OUTPUT_JSON)
    return print_line (output, result);
  errno = 0;
  end_json (output, result);
  if (fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

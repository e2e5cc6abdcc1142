/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sum-line.h"
#include "cli/container.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "util/control.h"
#include "util/error.h"
#include "util/result.h"

/* Replace each control character with '?', as in messages. */
static void
replace_controls (char *text)
{
  char *to = text;
  size_t len;

  for (; *text; text += len ? len : 1) {
    len = control_length (text);
    *to++ = len ? '?' : *text;
  }
  *to = '\0';
}

/* The name is escaped as in a list: if it contains a newline, a carriage return
 * or a backslash, the line begins with a backslash.  Other control characters
 * are replaced with '?'.  So an untrusted name cannot forge another line, and
 * no control character reaches the terminal.
 */
int
verdict_print (const char *name, const char *verdict)
{
  char *escaped = sum_line_escape (name);
  const char *prefix;
  int err = 0;

  if (!escaped)
    return ENOMEM;
  prefix = strcmp (escaped, name) == 0 ? "" : "\\";
  replace_controls (escaped);
  errno = 0;
  if (printf ("%s%s: %s\n", prefix, escaped, verdict) < 0 ||
      fflush (stdout) == EOF || ferror (stdout))
    err = errno ? errno : EIO;
  free (escaped);
  return err;
}

int
verdict_print_trailing (const char *name, uint64_t len)
{
  char text[64] = "any bytes after the image were not read";

  if (len == 0)
    return 0;
  if (len != UINT64_MAX)
    snprintf (text, sizeof text,
              "%" PRIu64 " bytes after the image were not read", len);
  return verdict_print (name, text);
}

/* A damaged line makes the check fail, so at least the first one is reported,
 * except with --status.
 */
static bool
is_reported (const struct verdict_output *output, const struct check_line *line)
{
  enum check_report level = output->options->verify.report;

  switch (line->outcome) {
  case LINE_MALFORMED:
    return level == CHECK_WARN;
  case LINE_DAMAGED:
    return level == CHECK_WARN ||
      (level != CHECK_STATUS && !output->damage_reported);
  default:
    return true;
  }
}

void
verdict_line (void *opaque, const struct check_line *line)
{
  struct verdict_output *output = opaque;
  enum check_report level = output->options->verify.report;
  int err = 0;

  if (line->error && is_reported (output, line))
    report (line->name ? line->name : output->list, line->error);
  output->damage_reported |= line->outcome == LINE_DAMAGED;
  if (line->verdict && level != CHECK_STATUS &&
      (level != CHECK_QUIET || line->outcome != LINE_MATCH))
    err = verdict_print (line->name, line->verdict);
  if (err)
    report_write_failed (err);
  if (line->first && level != CHECK_STATUS)
    container_report (line->name, line->first, "sum");
}

static void
warn (uint64_t count, const char *one, const char *many)
{
  if (count > 0)
    fprintf (stderr, "blksum: WARNING: %ju %s\n", (uintmax_t) count,
             count == 1 ? one : many);
}

static void
warn_lines (const struct check_result *result)
{
  const uint64_t *lines = result->lines;

  warn (lines[LINE_MALFORMED] + lines[LINE_DAMAGED],
        "line is improperly formatted", "lines are improperly formatted");
  warn (lines[LINE_UNREAD], "listed file could not be read",
        "listed files could not be read");
  warn (lines[LINE_INCOMPLETE], "listed file has no checksum",
        "listed files have no checksum");
  warn (lines[LINE_BAD], "listed file differs from its manifest",
        "listed files differ from their manifests");
  warn (lines[LINE_MISMATCH], "computed checksum did NOT match",
        "computed checksums did NOT match");
}

static void
report_list (const struct verdict_output *output, const char *what)
{
  struct error error = { "" };

  error_set (&error, "%s", what);
  report (output->list, &error);
}

int
verdict_end (const struct verdict_output *output,
             const struct check_result *result, bool readable)
{
  const struct verify_options *options = &output->options->verify;
  const uint64_t *lines = result->lines;
  uint64_t failed = lines[LINE_UNREAD] + lines[LINE_INCOMPLETE];
  uint64_t different = lines[LINE_MISMATCH] + lines[LINE_BAD];
  uint64_t formatted = lines[LINE_MATCH] + different + failed +
    lines[LINE_MISSING];
  bool silent = options->report == CHECK_STATUS;
  bool none_verified = options->ignore_missing && lines[LINE_MATCH] == 0;

  if (formatted > 0 && !silent)
    warn_lines (result);
  if (formatted == 0 && readable)
    report_list (output, result->foreign
                 ? "no checksums of disks found: these are sums of files, as "
                   "in the manifest of an OVF; check them with the program "
                   "that wrote them, such as sha256sum"
                 : "no properly formatted checksum lines found");
  else if (none_verified && readable && !silent)
    report_list (output, "no file was verified");

  if (different > 0)
    return EXIT_DIFFERS;
  if (formatted == 0 || none_verified || !readable || failed > 0 ||
      lines[LINE_DAMAGED] > 0 ||
      (options->strict && lines[LINE_MALFORMED] > 0))
    return EXIT_TROUBLE;
  return EXIT_SUCCESS;
}

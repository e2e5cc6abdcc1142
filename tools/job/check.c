/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: are images still what lists of checksums say?
 *
 * A list is read while its images are hashed, one after the other, each by all
 * threads, so that it can be of any length.  It may come from somebody who
 * wants us to do what the user did not ask for: what is in it names images to
 * read, as on the command line, but no servers to connect to.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/difference.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/check.h"
#include "job/expect-subset.h"
#include "job/hash.h"
#include "job/known.h"
#include "job/manifest.h"
#include "source/open.h"
#include "sums/line.h"
#include "sums/list.h"
#include "util/error.h"
#include "util/request.h"

/* One list. */
struct check {
  const struct hash_request *hash;
  const struct verify_request *request;
  const char *name;             /* as users know it */
  struct sums_list *list;
  bool is_stdin;
  bool unreadable;              /* it could not be read up to its end */
  bool damaged;                 /* a line that had a checksum has none */
  struct known known;           /* how the last checksum was made */
  struct verdicts verdicts;
};

/* ---- What is said of a line ---- */

static void
print_verdict (const struct check *check, const char *name,
               const char *verdict)
{
  int err = 0;

  if (check->request->report != CHECK_STATUS)
    err = verdict_print (name, verdict);
  if (err)
    report_write_failed (err);
}

/* WHY is NULL if it never was a checksum.  What is damaged makes the check
 * fail, so the first such line is always said.
 */
static void
malformed (struct check *check, const char *why)
{
  enum check_report level = check->request->report;
  struct error error = { "" };

  check->verdicts.malformed++;
  if (level == CHECK_WARN ||
      (why && !check->damaged && level != CHECK_STATUS)) {
    error_set (&error, "%ju: improperly formatted checksum line%s%s",
               (uintmax_t) sums_list_line_number (check->list),
               why ? ": " : "", why ? why : "");
    report (check->name, &error);
  }
  check->damaged |= why != NULL;
}

static void
incomplete (struct check *check, const struct sums_line *line)
{
  struct error error = { "" };

  check->verdicts.formatted++;
  check->verdicts.incomplete++;
  error_set (&error, "incomplete: %s", line->why);
  report (line->name, &error);
  print_verdict (check, line->name, "FAILED incomplete");
}

static void
unread (struct check *check, const char *name, const struct error *error)
{
  check->verdicts.unread++;
  report (name, error);
  print_verdict (check, name, "FAILED open or read");
}

/* ---- A checksum ---- */

#define VERDICT_SIZE 128

static int
verify_whole (const struct hash_request *hash, const struct sums_line *line,
              char *verdict, struct error *error)
{
  struct sum sum = { .hash = NULL };
  bool matches;

  if (job_hash (hash, line->name, &sum, error) == -1)
    return -1;
  matches = known_matches (line->hex, &sum);
  strcpy (verdict, matches ? "OK" : "FAILED");
  blkhash_opts_free (sum.hash);
  return matches;
}

static int
verify_subset (const struct hash_request *hash, const struct subset *subset,
               const struct sums_line *line, char *verdict,
               struct error *error)
{
  struct difference difference;

  if (expect_subset_line (hash, subset, line, &difference, error) == -1)
    return -1;
  expect_subset_verdict (subset, &difference, verdict, VERDICT_SIZE);
  difference_destroy (&difference);
  return !difference.differ;
}

static bool
is_missing (const char *name)
{
  const char *path = job_manifest_path (name);
  struct stat st;

  if (!path)
    path = name;
  return strcmp (path, "-") != 0 && !source_is_uri (path) &&
    stat (path, &st) == -1 && errno == ENOENT;
}

/* Hash the image of LINE, or some of it with --subset; of a manifest all is
 * read in any case.  1 if it is what it should be, 0 if not, both with VERDICT;
 * or -1 with the reason.
 */
static int
verify (const struct check *check, const struct sums_line *line, char *verdict,
        struct error *error)
{
  const struct verify_request *request = check->request;
  struct hash_request hash = *check->hash;

  if (source_is_uri (line->name) && !request->allow_uris)
    return error_set (error, "a URI in a list is not opened without "
                      "--allow-uris");
  hash.opts = check->known.opts;
  hash.construction_chosen = true; /* no manifest of another kind */
  hash.progress.name = line->name;
  if (request->subset.n > 0 && !job_manifest_path (line->name))
    return verify_subset (&hash, &request->subset, line, verdict, error);
  return verify_whole (&hash, line, verdict, error);
}

static void
check_image (struct check *check, const struct sums_line *line)
{
  struct error error = { "" };
  char verdict[VERDICT_SIZE];
  int r;

  check->verdicts.formatted++;
  if (check->request->ignore_missing && is_missing (line->name))
    return;
  r = verify (check, line, verdict, &error);
  if (r == -1) {
    unread (check, line->name, &error);
    return;
  }
  check->verdicts.matched += r;
  check->verdicts.mismatched += !r;
  if (!r || check->request->report != CHECK_QUIET)
    print_verdict (check, line->name, verdict);
}

static void
check_sum (struct check *check, const struct sums_line *line)
{
  const struct hash_request *hash = check->hash;
  struct error error = { "" };

  if (check->is_stdin && job_manifest_is_stdin (&hash->source, line->name)) {
    malformed (check, "it is of standard input, and so is the list");
    return;
  }
  if (known_set (&check->known, line->spec, line->hex, hash->opts,
                 &error) == -1) {
    malformed (check, error.text);
    return;
  }
  check_image (check, line);
}

/* ---- A list ---- */

static void
check_line (struct check *check, const struct sums_line *line)
{
  switch (line->type) {
  case SUMS_NOTHING: break;
  case SUMS_SUM: check_sum (check, line); break;
  case SUMS_INCOMPLETE: incomplete (check, line); break;
  case SUMS_OTHER: malformed (check, NULL); break;
  case SUMS_DAMAGED: malformed (check, line->why); break;
  }
}

static void
complain (const struct check *check, const char *what)
{
  struct error error = { "" };

  error_set (&error, "%s", what);
  report (check->name, &error);
}

/* Say what all lines of a list come to, and return its status. */
static int
conclude (const struct check *check)
{
  const struct verify_request *request = check->request;
  const struct verdicts *verdicts = &check->verdicts;
  bool silent = request->report == CHECK_STATUS;
  bool nothing = request->ignore_missing && verdicts->matched == 0;

  if (verdicts->formatted > 0 && !silent)
    verdicts_warn (verdicts);
  if (verdicts->formatted == 0 && !check->unreadable)
    complain (check, "no properly formatted checksum lines found");
  else if (nothing && !check->unreadable && !silent)
    complain (check, "no file was verified");

  if (verdicts->mismatched > 0)
    return EXIT_DIFFERS;
  if (verdicts->formatted == 0 || nothing || check->unreadable ||
      check->damaged || verdicts->unread > 0 || verdicts->incomplete > 0 ||
      (request->strict && verdicts->malformed > 0))
    return EXIT_TROUBLE;
  return EXIT_SUCCESS;
}

static int
check_list (const struct hash_request *hash,
            const struct verify_request *request, const char *path)
{
  struct check check = {
    .hash = hash,
    .request = request,
    .name = path,
    .is_stdin = strcmp (path, "-") == 0,
  };
  struct error error = { "" };
  struct sums_line line;
  int r;

  if (check.is_stdin)
    check.name = "standard input";
  check.list = sums_list_open (path, &error);
  if (!check.list) {
    report (check.name, &error);
    return EXIT_TROUBLE;
  }
  while ((r = sums_list_next (check.list, &line, &error)) == 1)
    check_line (&check, &line);
  sums_list_close (check.list);
  known_destroy (&check.known);
  if (r == -1)
    report (check.name, &error);
  check.unreadable = r == -1;
  return conclude (&check);
}

int
job_check (const struct hash_request *hash,
           const struct verify_request *request, char **lists, int count)
{
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < count; i++) {
    int of_list = check_list (hash, request, lists[i]);

    /* One that differs is told also if others could not be read. */
    if (of_list == EXIT_DIFFERS || status == EXIT_SUCCESS)
      status = of_list;
  }
  return status;
}

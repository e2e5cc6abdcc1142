/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify images against a list of checksums.
 *
 * The list is read line by line, so it can have any length.  Images are hashed
 * one after the other, each by all threads.
 *
 * The list is untrusted.  Its names are opened like operands on the command
 * line, except that a URI is refused without --allow-uris.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "../lib/manifest/manifest.h"
#include "job/check.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "source/source.h"
#include "util/error.h"

/* ---- Reading a list ---- */

/* The maximum length of a line in bytes: enough for a name of PATH_MAX bytes
 * that are all escaped.
 */
#define MAX_LINE (64 * 1024)

struct sums_list {
  FILE *in;
  uint64_t number;              /* of the last line that was read, from 1 */
  char text[MAX_LINE + 1];      /* the line, terminated by a NUL */
};

struct sums_list *
sums_list_open (const char *path, struct error *error)
{
  struct sums_list *list = malloc (sizeof *list);

  if (!list) {
    error_errno (error, errno, "cannot open");
    return NULL;
  }
  list->number = 0;
  list->in = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
  if (!list->in) {
    error_errno (error, errno, "cannot open");
    free (list);
    return NULL;
  }
  return list;
}

/* Returns true if TEXT, the start of the list, has the byte order mark with
 * which Windows writes UTF-16.
 */
static bool
is_utf16 (const char *text)
{
  return strncmp (text, "\xff\xfe", 2) == 0 ||
    strncmp (text, "\xfe\xff", 2) == 0;
}

enum answer
sums_list_next (struct sums_list *list, struct sums_line *line,
                struct error *error)
{
  char rest[1024];
  enum line_end end;
  size_t len, n;
  bool is_long;

  errno = 0;
  end = line_read (list->in, list->text, sizeof list->text, &len);
  is_long = end == LINE_LONG;
  while (end == LINE_LONG)
    end = line_read (list->in, rest, sizeof rest, &n);
  if (ferror (list->in))
    return error_errno (error, errno ? errno : EIO, "cannot read");
  if (end == LINE_FILE_END && len == 0)
    return ANSWER_NO;
  list->number++;
  if (list->number == 1 && is_utf16 (list->text))
    return error_set (error, "is UTF-16 text, and a list is UTF-8: convert it, "
                      "as with iconv -f UTF-16 -t UTF-8");
  if (list->number == 1 &&
      strncmp (list->text, MANIFEST_MAGIC, strlen (MANIFEST_MAGIC)) == 0)
    return error_set (error, "is a manifest, not a list of sums: --expect "
                      "manifest:FILE checks an image with it");
  if (end == LINE_NUL)
    return error_set (error, "line %" PRIu64 " has a NUL character: the lines "
                      "of a list end with newlines", list->number);
  if (is_long)
    *line = (struct sums_line) {
      .type = SUMS_DAMAGED, .why = "it is longer than 65536 bytes"
    };
  else
    sums_line_parse (list->text, len, line);
  if (end == LINE_FILE_END && line->type == SUMS_OTHER)
    *line = (struct sums_line) {
      .type = SUMS_DAMAGED, .why = "the list ends within it"
    };
  return ANSWER_YES;
}

void
sums_list_close (struct sums_list *list)
{
  if (list->in != stdin)
    fclose (list->in);
  free (list);
}

/* ---- The result of a line ---- */

struct list_check {
  const struct check_request *request;
  struct sums_list *list;
  struct check_result *result;
};

static void
report_line (struct list_check *check, const struct check_line *line)
{
  check->result->lines[line->outcome]++;
  check->request->report (check->request->opaque, line);
}

/* Report an invalid line.  WHY is NULL if the line does not look like a
 * checksum at all.
 */
static void
report_malformed (struct list_check *check, const char *why)
{
  struct error error = { "" };

  error_set (&error, "%" PRIu64 ": improperly formatted checksum line%s%s",
             check->list->number, why ? ": " : "", why ? why : "");
  report_line (check, &(struct check_line) {
    .outcome = why ? LINE_DAMAGED : LINE_MALFORMED, .error = &error
  });
}

/* Report a comment of a filter: "# unknown", which says why there is no
 * checksum of an image, or "# differs", which says how many bytes of an image
 * differ from its manifest.
 */
static void
report_comment (struct list_check *check, const struct sums_line *line)
{
  bool differs = line->type == SUMS_DIFFERS;
  struct error error = { "" };

  error_set (&error, "%s: %s", differs ? "differs" : "unknown", line->why);
  report_line (check, &(struct check_line) {
    .outcome = differs ? LINE_DIFFERS : LINE_UNKNOWN, .name = line->name,
    .verdict = differs ? "FAILED differs" : "FAILED unknown", .error = &error
  });
}

/* ---- A checksum ---- */

static int
verify_whole (const struct hash_request *hash,
              const struct expected_sum *expected,
              struct expect_result *result, struct error *error)
{
  struct sum sum = { .hash = NULL };

  if (job_hash (hash, &sum, error) == -1)
    return -1;
  result->same = memcmp (sum.md, expected->md, sum.md_len) == 0;
  strcpy (result->verdict, result->same ? "OK" : "FAILED");
  result->first = sum.first;
  sum_line_text (expected->opts, sum.md, result->sum);
  sum_line_text (expected->opts, expected->md, result->expected);
  blkhash_opts_free (sum.hash);
  return 0;
}

/* Compare PART of the image with the manifest beside it, which must have the
 * sum EXPECTED.
 */
static int
verify_part (const struct hash_request *hash, const struct part *part,
             const struct expected_sum *expected,
             struct expect_result *result, struct error *error)
{
  struct expect_request request = {
    .hash = *hash, .part = *part, .manifest_sum = expected
  };
  struct error reason = { "" };
  const char *operand;
  char *manifest;
  int r;

  if (strcmp (hash->operand, "-") == 0 || source_is_uri (hash->operand))
    return error_set (error, "--part needs a manifest beside the image");
  if (asprintf (&manifest, "manifest:%s.blkm", hash->operand) == -1)
    return error_errno (error, ENOMEM, "cannot check");
  request.expected = manifest;
  r = job_expect (&request, result, &operand, &reason);
  if (r == -1 && operand == manifest)
    error_about (error, manifest, "%s", reason.text);
  else if (r == -1)
    error_copy (error, &reason);
  free (manifest);
  return r;
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

/* Hash the image NAME; or, with --part, compare a part of the image with its
 * manifest.  If NAME is a manifest, all of it is read in both cases.
 */
static int
verify (const struct list_check *check, const char *name,
        const struct expected_sum *expected, struct expect_result *result,
        struct error *error)
{
  const struct check_request *request = check->request;
  struct hash_request hash = request->hash;

  if (source_is_uri (name) && !request->allow_uris)
    return error_set (error, "a URI in a list is not opened without "
                      "--allow-uris");
  hash.operand = hash.progress.name = name;
  hash.opts = expected->opts;
  hash_request_fix (&hash);     /* refuse a manifest with others */
  return request->part.n > 0 && !job_manifest_path (name)
    ? verify_part (&hash, &request->part, expected, result, error)
    : verify_whole (&hash, expected, result, error);
}

static void
check_image (struct list_check *check, const char *name,
             const struct expected_sum *expected)
{
  struct check_line result = { .outcome = LINE_MISSING, .name = name };
  struct expect_result verified = { .same = false };
  struct error error = { "" };

  if (!check->request->ignore_missing || !is_missing (name)) {
    int r = verify (check, name, expected, &verified, &error);

    result.outcome = r == 0 ? (verified.same ? LINE_MATCH : LINE_MISMATCH)
      : *verified.verdict ? LINE_UNCHECKED : LINE_UNREAD;
    result.verdict = *verified.verdict ? verified.verdict
      : "FAILED open or read";
    result.error = r == -1 ? &error : NULL;
    result.verified = r == -1 ? NULL : &verified;
  }
  report_line (check, &result);
}

static void
check_sum (struct list_check *check, const struct sums_line *line)
{
  const struct check_request *request = check->request;
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct expected_sum expected;

  if (strcmp (request->list, "-") == 0 && job_manifest_is_stdin (line->name))
    report_malformed (check, "standard input is the list");
  else if (expected_sum_init (&expected, line, request->hash.opts, reason))
    report_malformed (check, reason);
  else {
    check->result->tagged |= expected.tagged;
    check_image (check, line->name, &expected);
    expected_sum_destroy (&expected);
  }
}

/* ---- The lines of a list ---- */

static void
check_line (struct list_check *check, const struct sums_line *line)
{
  switch (line->type) {
  case SUMS_NOTHING: break;
  case SUMS_SUM: check_sum (check, line); break;
  case SUMS_UNKNOWN:
  case SUMS_DIFFERS: report_comment (check, line); break;
  case SUMS_OTHER:
    check->result->foreign |= line->foreign;
    report_malformed (check, NULL);
    break;
  case SUMS_DAMAGED: report_malformed (check, line->why); break;
  }
}

int
job_check (const struct check_request *request,
           struct check_result *result, struct error *error)
{
  struct list_check check = { .request = request, .result = result };
  struct sums_line line;
  enum answer more;

  *result = (struct check_result) { .foreign = false };
  check.list = sums_list_open (request->list, error);
  if (!check.list)
    return -1;
  while ((more = sums_list_next (check.list, &line, error)) == ANSWER_YES)
    check_line (&check, &line);
  sums_list_close (check.list);
  return more == ANSWER_NO ? 0 : -1;
}

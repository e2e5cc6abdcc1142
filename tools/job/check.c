/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify images against a list of checksums.
 *
 * The list is read line by line, so it can have any length.  Images are hashed
 * one after the other, each by all threads.  Lines of one image that follow
 * each other, its sum and digests of its content, are a group, which is checked
 * in one read.
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
                      "of a list end with newlines; --expect SUM checks one "
                      "image", list->number);
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

#define MAX_GROUP (1 + CONTENT_MAX_SUMS) /* lines */

struct list_check {
  const struct check_request *request;
  struct sums_list *list;
  struct check_result *result;

  /* The group. */
  struct expected_sum expected[MAX_GROUP]; /* COUNT of them */
  unsigned count;
  char name[MAX_LINE + 1];      /* of the image */
  struct blkhash_opts *opts;    /* of its sum; NULL: there is none */
  struct content_sums content;  /* the digests of its content */
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

/* ---- The images of a group ---- */

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

/* The request for the image of the group. */
static struct hash_request
request_of (const struct list_check *check)
{
  struct hash_request hash = check->request->hash;

  hash.operand = hash.progress.name = check->name;
  hash.content = check->content;
  if (check->opts) {
    hash.opts = check->opts;
    hash_request_fix (&hash);   /* refuse a manifest with others */
  }
  return hash;
}

static void
report_image (struct list_check *check, enum check_outcome outcome,
              const char *verdict, const struct error *error,
              const struct expect_result *verified)
{
  report_line (check, &(struct check_line) {
    .outcome = outcome, .name = check->name, .verdict = verdict,
    .error = error, .verified = verified
  });
}

/* Report a line of the group.  R is the result of reading the image. */
static void
report_verified (struct list_check *check, int r,
                 const struct expect_result *verified,
                 const struct error *error)
{
  enum check_outcome outcome = r == 0
    ? (verified->same ? LINE_MATCH : LINE_MISMATCH)
    : *verified->verdict ? LINE_UNCHECKED : LINE_UNREAD;

  report_image (check, outcome,
                *verified->verdict ? verified->verdict : "FAILED open or read",
                r == -1 ? error : NULL, r == -1 ? NULL : verified);
}

/* Hash the image of the group, and report each line.  Only the first line has
 * a hint, and says so if the image contains the image of a disk.
 */
static void
check_whole (struct list_check *check, struct error *error)
{
  const struct hash_request hash = request_of (check);
  struct sum sum = { .hash = NULL };
  int r = error_is_set (error) ? -1 : job_hash (&hash, &sum, error);

  for (unsigned i = 0; i < check->count; i++) {
    struct expect_result verified = { .same = false };

    if (r == 0)
      expect_result_set (&verified, &hash, &check->expected[i], &sum);
    if (i > 0)
      verified.hint = (struct error) { "" };
    report_verified (check, r, &verified, error);
    sum.first.len = 0;
  }
  blkhash_opts_free (sum.hash);
}

/* Compare a part of the image with its manifest.  The group has one line. */
static void
check_part (struct list_check *check, struct error *error)
{
  const struct hash_request hash = request_of (check);
  struct expect_result verified = { .same = false };
  int r = -1;

  if (check->content.count > 0)
    error_set (error, "--part: a digest of the content is of the whole image");
  if (!error_is_set (error))
    r = verify_part (&hash, &check->request->part, check->expected, &verified,
                     error);
  report_verified (check, r, &verified, error);
}

/* Is only a part of the image NAME compared?  If it is a manifest, all of it is
 * read.
 */
static bool
is_partial (const struct list_check *check, const char *name)
{
  return check->request->part.n > 0 && !job_manifest_path (name);
}

/* Check the image of the group, if there is one, and begin a new group. */
static void
check_group (struct list_check *check)
{
  const struct check_request *request = check->request;
  struct error error = { "" };

  if (check->count == 0)
    return;
  if (request->ignore_missing && is_missing (check->name))
    for (unsigned i = 0; i < check->count; i++)
      report_image (check, LINE_MISSING, NULL, NULL, NULL);
  else {
    if (source_is_uri (check->name) && !request->allow_uris)
      error_set (&error, "a URI in a list is not opened without "
                 "--allow-uris");
    if (is_partial (check, check->name))
      check_part (check, &error);
    else
      check_whole (check, &error);
  }
  for (unsigned i = 0; i < check->count; i++)
    expected_sum_destroy (&check->expected[i]);
  check->count = 0;
  check->opts = NULL;
  check->content.count = 0;
}

/* Add EXPECTED, a sum of the image NAME, to the group.  Returns false if it
 * cannot be checked in the same read.
 */
static bool
add_to_group (struct list_check *check, const char *name,
              const struct expected_sum *expected)
{
  if (check->count > 0 &&
      (check->count == MAX_GROUP || strcmp (check->name, name) != 0 ||
       is_partial (check, name) || job_manifest_path (name)))
    return false;
  if (!expected->content && check->opts)
    return false;
  if (!expected->content)
    check->opts = expected->opts;
  else if (!content_sums_add (&check->content,
                              blkhash_opts_get_digest_name (expected->opts)))
    return false;
  strcpy (check->name, name);
  check->expected[check->count++] = *expected;
  return true;
}

static void
add_sum (struct list_check *check, const struct sums_line *line)
{
  const struct check_request *request = check->request;
  char reason[BLKHASH_MAX_REASON_SIZE] = "standard input is the list";
  struct expected_sum expected;

  if ((strcmp (request->list, "-") == 0 &&
       job_manifest_is_stdin (line->name)) ||
      expected_sum_init (&expected, line, request->hash.opts, reason) != 0) {
    check_group (check);
    report_malformed (check, reason);
    return;
  }
  check->result->tagged |= expected.tagged;
  if (!add_to_group (check, line->name, &expected)) {
    check_group (check);
    add_to_group (check, line->name, &expected);
  }
}

/* ---- The lines of a list ---- */

static void
report_other (struct list_check *check, const struct sums_line *line)
{
  if (line->type == SUMS_UNKNOWN || line->type == SUMS_DIFFERS)
    report_comment (check, line);
  else {
    check->result->foreign |= line->foreign;
    report_malformed (check, line->type == SUMS_DAMAGED ? line->why : NULL);
  }
}

/* Lines are reported in their order: another line than a sum ends the group. */
static void
check_line (struct list_check *check, const struct sums_line *line)
{
  if (line->type == SUMS_SUM || line->type == SUMS_CONTENT)
    add_sum (check, line);
  else if (line->type != SUMS_NOTHING) {
    check_group (check);
    report_other (check, line);
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
  check_group (&check);
  sums_list_close (check.list);
  return more == ANSWER_NO ? 0 : -1;
}

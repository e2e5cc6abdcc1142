/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two jobs: compute the sum of an image, and compare it with an expected one.
 *
 * A leaf table computes the sum while the source fills it.  With --manifest,
 * the writer of the manifest computes the sum from the leaves that it receives.
 * The sum of a manifest is computed from its leaves.
 *
 * The expected sum is a text (../lib/common/sums.h), or "manifest:FILE", which
 * stands for the sum of the manifest FILE.  The text can also be a digest of
 * the content, which is computed beside the sum.  A part of an image has no
 * sum, so its leaves are compared with those of a manifest.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/clock.h"
#include "../lib/common/sums.h"
#include "blkhash.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "job/manifest-operand.h"
#include "read/content.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"

/* ---- A sum ---- */

static int
hash_to_sum (const struct hash_request *request, struct source *source,
             struct content *content, struct sum *sum, struct error *error)
{
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (request->opts, source->size, BLKHASH_LEAVES_ONCE);
  struct scan_request all = { .opts = request->opts, .content = content };
  int r;

  if (!leaves)
    return error_errno (error, errno, "cannot hash");
  all.progress = progress_begin (&request->progress, source->size);
  r = image_table_fill (source, leaves, &all, sum, error);
  progress_end (all.progress, r == 0);
  blkhash_leaves_free (leaves);
  return r;
}

static int
hash_with_manifest (const struct hash_request *request, struct source *source,
                    struct content *content, struct sum *sum,
                    struct error *error)
{
  struct scan_request all = { .opts = request->opts, .content = content };
  struct manifest_file manifest;
  int r;

  if (manifest_file_open (&manifest, request->manifest, request->opts,
                          source->size, source, error) == -1)
    return -1;
  all.progress = progress_begin (&request->progress, source->size);
  r = manifest_file_hash (&manifest, source, &all, sum, error);
  progress_end (all.progress, r == 0);
  if (r == 0)
    r = manifest_file_publish (&manifest, error);
  manifest_file_close (&manifest);
  return r;
}

/* Hash SOURCE, which is open, and stays open.  The time in SUM is not set.
 * After an error SOURCE can only be closed.
 */
static int
hash_source (const struct hash_request *request, struct source *source,
             struct sum *sum, struct error *error)
{
  struct content *content = NULL;
  int r;

  *sum = (struct sum) { .hash = NULL };
  if (request->content.count > 0) {
    content = content_create (&request->content, error);
    if (!content)
      return -1;
  }
  r = request->manifest
    ? hash_with_manifest (request, source, content, sum, error)
    : hash_to_sum (request, source, content, sum, error);
  content_free (content);
  return r;
}

int
job_hash (const struct hash_request *request, struct sum *sum,
          struct error *error)
{
  const char *manifest = job_manifest_path (request->operand);
  double start = clock_seconds ();
  struct source *source;
  int r;

  if (manifest && (request->manifest || request->source.format ||
                   request->source.size != SOURCE_WHOLE))
    return error_set (error, "--manifest, --size and -f are for images, and "
                      "this is a manifest");
  if (manifest && request->content.count > 0)
    return error_set (error, "a digest of the content is for images, and this "
                      "is a manifest, which has no data");
  if (manifest)
    r = job_manifest (request, manifest, sum, error);
  else {
    if (source_open (&request->source, request->operand, &source, error) == -1)
      return -1;
    r = hash_source (request, source, sum, error);
    source_close (source);
  }
  sum->seconds = clock_seconds () - start;
  return r;
}

/* ---- Expect: the whole image ---- */

/* Check that the parameters of the checksum are those that the user chose. */
static int
check_params (const struct hash_request *request,
              const struct blkhash_opts *opts, struct error *error)
{
  const struct blkhash_opts *chosen = request->opts;
  const char *differs = NULL;

  if (request->digest_fixed &&
      strcmp (blkhash_opts_get_digest_name (chosen),
              blkhash_opts_get_digest_name (opts)) != 0)
    differs = "digest";
  else if (request->block_size_fixed &&
           blkhash_opts_get_block_size (chosen) !=
           blkhash_opts_get_block_size (opts))
    differs = "block size";
  else if (request->construction_fixed &&
           (blkhash_opts_get_streams (chosen) !=
            blkhash_opts_get_streams (opts) ||
            blkhash_opts_get_linear (chosen) !=
            blkhash_opts_get_linear (opts)))
    differs = "construction";
  if (!differs)
    return 0;
  return error_set (error, "--expect: the sum was made with another %s",
                    differs);
}

/* Set EXPECTED to the sum of the manifest at PATH, and *SIZE to the size of its
 * image.
 */
static int
read_manifest_sum (const struct expect_request *request, const char *path,
                   struct expected_sum *expected, uint64_t *size,
                   struct error *error)
{
  struct hash_request any = { .progress = request->hash.progress };
  struct sum sum;

  any.progress.aside = true;
  if (job_manifest (&any, path, &sum, error) == -1)
    return -1;
  *size = sum.size;
  expected->opts = sum.hash;
  expected->tagged = true;
  memcpy (expected->md, sum.md, sum.md_len);
  return 0;
}

/* Store the command that prints the DIGEST of a file in COMMAND. */
static void
file_command (const char *digest, char *command, size_t size)
{
  static const struct {
    const char *digest, *command;
  } others[] = {                /* digests that openssl does not have */
    { "blake3", "b3sum" }, { "blake2b-256", "b2sum -l 256" },
    { "xxh64", "xxhsum -H64" }, { "xxh3-128", "xxhsum -H128" },
  };

  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp (digest, others[i].digest) == 0) {
      snprintf (command, size, "%s", others[i].command);
      return;
    }
  if (strcmp (digest, "md5") == 0 ||
      (strncmp (digest, "sha", 3) == 0 &&
       isdigit ((unsigned char) digest[3]) && !strchr (digest, '-')))
    snprintf (command, size, "%ssum", digest);
  else
    snprintf (command, size, "openssl dgst -%s", digest);
}

/* LINE is the sum of a file, which is not that of the disk in it.  What it is
 * the sum of, the user knows; so the message has both ways to check it.
 */
static int
refuse_file_sum (const struct expect_request *request,
                 const struct sums_line *line, struct error *error)
{
  struct blkhash_opts *opts = blkhash_opts_new (line->spec);
  const char *digest;
  char command[128];

  if (opts) {
    digest = blkhash_opts_get_digest_name (opts);
    file_command (digest, command, sizeof command);
    error_set (error, "--expect: %s:%.8s... is the sum of a file: %s %s; if it "
               "is of the raw disk in it, content-%s:%.8s...", digest,
               line->hex, command, request->hash.operand, digest, line->hex);
  }
  else
    error_set (error, "--expect: %s", line->why);
  blkhash_opts_free (opts);
  return -1;
}

/* Set EXPECTED to the sum in the text of REQUEST. */
static int
parse_text (const struct expect_request *request,
            struct expected_sum *expected, struct error *error)
{
  char *copy = strdup (request->expected);
  char reason[BLKHASH_MAX_REASON_SIZE];
  struct sums_line line;
  int r = 0;

  if (!copy)
    return error_errno (error, errno, "--expect");
  sums_line_parse_text (copy, &line);
  if (line.foreign)
    r = refuse_file_sum (request, &line, error);
  else if (line.type == SUMS_DAMAGED)
    r = error_set (error, "--expect: %s", line.why);
  else if (expected_sum_init (expected, &line, request->hash.opts, reason) != 0)
    r = error_set (error, "--expect: %s", reason);
  free (copy);
  return r;
}

/* Set EXPECTED to the expected sum of REQUEST, and *SIZE to the size of the
 * image, if it is known.  Returns the same as job_expect.
 */
static int
parse (const struct expect_request *request, struct expected_sum *expected,
       uint64_t *size, const char **operand, struct error *error)
{
  const struct hash_request *hash = &request->hash;
  const char *path = job_manifest_path (request->expected);

  if (path && job_manifest_is_stdin (request->expected) &&
      job_manifest_is_stdin (hash->operand))
    return error_set (error, "--expect: standard input cannot be both the "
                      "manifest and the image");
  if (path && read_manifest_sum (request, path, expected, size, error) == -1) {
    *operand = request->expected;
    return -1;
  }
  if (!path && parse_text (request, expected, error) == -1)
    return -1;
  if (blkhash_opts_get_digest_size (expected->opts) == 0)
    return error_set (error, "--expect: a digest whose length is zero proves "
                      "nothing");
  return expected->content
    ? 0 : check_params (hash, expected->opts, error);
}

/* Set ERROR to both sums, one below the other. */
static void
describe_mismatch (const struct expected_sum *expected,
                   const unsigned char *md, struct error *error)
{
  char *wanted = expected_sum_line (expected, expected->md);
  char *got = expected_sum_line (expected, md);
  char lines[1024];

  snprintf (lines, sizeof lines, "expected %s\ngot      %s\n%s",
            wanted ? wanted : "another sum", got ? got : "another sum",
            expected->tagged ? "" : "made with another -d, by sha256sum, or "
            "copied to a larger disk (--size)?\n");
  error_set_lines (error, lines);
  free (wanted);
  free (got);
}

/* Can the disk be larger than the image that was copied to it? */
static bool
is_volume (const char *operand)
{
  struct stat st;

  return source_is_uri (operand) ||
    (stat (operand, &st) == 0 && S_ISBLK (st.st_mode));
}

/* Set the hint of RESULT, if the image in FORMAT may not be the one that
 * EXPECTED is of.  A name that ends with the format is no surprise.
 */
static void
set_hint (struct expect_result *result, const struct hash_request *request,
          const struct expected_sum *expected, const char *format)
{
  const char *suffix = strrchr (request->operand, '.');

  if (strcmp (format, "raw") == 0 || strcmp (format, "nbd") == 0) {
    if (expected->tagged && *result->sum &&
        request->source.size == SOURCE_WHOLE && is_volume (request->operand))
      error_set (&result->hint, "all of it was hashed; if the image is "
                 "smaller, --size hashes only the image");
  }
  else if (!request->source.format && strcmp (format, "manifest") != 0 &&
           (!suffix || strcasecmp (suffix + 1, format) != 0))
    error_set (&result->hint, "was read as %s, by its first bytes; -f raw "
               "reads it as a raw disk", format);
}

void
expect_result_set (struct expect_result *result,
                   const struct hash_request *request,
                   const struct expected_sum *expected, const struct sum *sum)
{
  const char *digest = blkhash_opts_get_digest_name (expected->opts);
  const unsigned char *md = expected->content
    ? content_sums_find (&sum->content, digest)->md : sum->md;

  result->same = memcmp (expected->md, md,
                         blkhash_opts_get_digest_size (expected->opts)) == 0;
  result->first = sum->first;
  expected_sum_text (expected, md, result->sum);
  expected_sum_text (expected, expected->md, result->expected);
  if (result->same)
    strcpy (result->verdict, "OK");
  else if (expected->content)
    snprintf (result->verdict, VERDICT_SIZE, "FAILED (content-%s)", digest);
  else
    strcpy (result->verdict, "FAILED");
  if (!result->same) {
    describe_mismatch (expected, md, &result->why);
    set_hint (result, request, expected, sum->format);
  }
}

/* An image whose size is not SIZE is not read.  SIZE can be
 * SOURCE_SIZE_UNKNOWN, and so can the size of the image.
 */
static int
compare (const struct expect_request *request,
         const struct expected_sum *expected, uint64_t size,
         struct expect_result *result, struct error *error)
{
  struct hash_request hash = request->hash;
  struct source *source = NULL;
  struct sum sum;
  int r = 0;

  if (expected->content)
    content_sums_add (&hash.content,
                      blkhash_opts_get_digest_name (expected->opts));
  else {
    hash.opts = expected->opts;
    hash_request_fix (&hash);   /* refuse a manifest with others */
  }
  if (!job_manifest_path (hash.operand) &&
      source_open (&hash.source, hash.operand, &source, error) == -1)
    return -1;
  if (source && source->size != size && size != SOURCE_SIZE_UNKNOWN &&
      source->size != SOURCE_SIZE_UNKNOWN) {
    strcpy (result->verdict, "FAILED");
    result->first = source->first;
    error_size (&result->why, source->size, request->expected, size);
    set_hint (result, &hash, expected, source->format);
  }
  else {
    r = source ? hash_source (&hash, source, &sum, error)
               : job_hash (&hash, &sum, error);
    if (r == 0) {
      if (size != SOURCE_SIZE_UNKNOWN)
        hash.source.size = size;        /* the image has it: no hint about it */
      expect_result_set (result, &hash, expected, &sum);
      blkhash_opts_free (sum.hash);
    }
  }
  if (source) {
    result->trailing = source->trailing;
    source_close (source);
  }
  return r;
}

/* ---- Expect: a part ---- */

static void
set_verdict (struct expect_result *result, const struct part *part,
             const struct difference *difference)
{
  const char *verdict = difference->part_is_empty ? "not checked"
    : difference->differ ? "FAILED" : "OK";
  char text[PART_TEXT_SIZE];

  part_describe (part, difference->compared_bytes, difference->size[1], text);
  snprintf (result->verdict, VERDICT_SIZE, "%s (%s)", verdict, text);
}

/* Compare the part of the image with the manifest.  The comparison does not
 * stop at the first difference, so that the manifest is read to its end, and a
 * change of it is detected.
 */
static int
expect_part (const struct expect_request *request,
             struct expect_result *result, const char **operand,
             struct error *error)
{
  const struct hash_request *hash = &request->hash;
  const struct compare_request compare = {
    .hash = *hash,
    .operands = { request->expected, hash->operand },
    .formats = { NULL, hash->source.format },
    .size = SOURCE_WHOLE,
    .part = request->part,
    .same_hash = true,
    .manifest_sum = request->manifest_sum,
  };
  struct difference difference;
  int r = job_compare (&compare, &difference, operand, error);

  if (r == 0 || difference.part_is_empty)
    set_verdict (result, &request->part, &difference);
  result->compared_bytes = difference.compared_bytes;
  result->same = r == 0 && !difference.differ;
  result->first = difference.first_bytes[1];
  if (r == 0 && difference.differ)
    error_set (&result->why, "%" PRIu64 " bytes at %" PRIu64 " differ; "
               "'blkhash compare' prints all ranges", difference.first_length,
               difference.first);
  return r;
}

int
job_expect (const struct expect_request *request,
            struct expect_result *result, const char **operand,
            struct error *error)
{
  struct expected_sum expected = { .opts = NULL };
  uint64_t size = SOURCE_SIZE_UNKNOWN;
  int r;

  *result = (struct expect_result) { .same = false };
  *operand = NULL;
  if (request->part.n > 0 && !job_manifest_path (request->expected))
    return error_set (error, "--part needs --expect manifest:FILE: a sum "
                      "covers the whole image");
  if (request->part.n > 0)
    return expect_part (request, result, operand, error);
  r = parse (request, &expected, &size, operand, error);
  if (r == 0) {
    *operand = request->hash.operand;
    r = compare (request, &expected, size, result, error);
  }
  expected_sum_destroy (&expected);
  return r;
}

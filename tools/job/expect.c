/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: does an image have the checksum that it should have?
 *
 * The checksum is "HEX"; or "blk-DIGEST/SIZE:HEX", in one word for programs
 * that hand it on; or what --tag --no-names prints; or that of a manifest.
 */

#include <config.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/common/sum-line.h"
#include "cli/follows.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/expect.h"
#include "job/expect-subset.h"
#include "job/follows.h"
#include "job/hash.h"
#include "job/known.h"
#include "job/manifest.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"
#include "util/request.h"

struct expected {
  char *text;                   /* what follows points into it */
  const char *kind;             /* "sha256/64k", or NULL: it does not say */
  const char *hex;
  struct known known;           /* how it is made */
};

/* A checksum of a file, as of sha256sum: a prefix that others use. */
static void refuse_prefix (const char *prefix) __attribute__ ((noreturn));

static void
refuse_prefix (const char *prefix)
{
  struct blkhash_opts *opts = blkhash_opts_new (prefix);
  const char *digest;           /* static */

  if (!opts)
    usage_error ("--expect: '%s' is not blk-DIGEST/SIZE", prefix);
  digest = blkhash_opts_get_digest_name (opts);
  blkhash_opts_free (opts);
  usage_error ("--expect: '%s' is the checksum of a file as it is stored, like "
               "that of sha256sum; blk-%s/SIZE is that of the disk in it, "
               "another number",
               prefix, digest);
}

/* Cut the text into the kind and the digits. */
static void
split (struct expected *expected)
{
  char *end = strstr (expected->text, " = "), *hex = NULL;

  if (end)
    hex = end + strlen (" = ");
  else {
    end = strrchr (expected->text, ':');
    hex = end ? end + 1 : expected->text;
  }
  if (end) {
    *end = '\0';
    if (strncmp (expected->text, "blk-", 4) != 0)
      refuse_prefix (expected->text);
    expected->kind = expected->text + 4;
  }
  expected->hex = hex;
  while (isxdigit ((unsigned char) *hex))
    hex++;
  if (*hex || hex == expected->hex)
    usage_error ("--expect: '%s' is not a checksum, which is hexadecimal",
                 expected->hex);
}

/* What the checksum says of itself, and what the options say, is the same. */
static void
check_chosen (const struct hash_request *request,
              const struct blkhash_opts *opts)
{
  const struct blkhash_opts *chosen = request->opts;
  const char *differs = NULL;

  if (request->digest_chosen &&
      strcmp (blkhash_opts_get_digest_name (chosen),
              blkhash_opts_get_digest_name (opts)) != 0)
    differs = "digest";
  else if (request->block_size_chosen &&
           blkhash_opts_get_block_size (chosen) !=
           blkhash_opts_get_block_size (opts))
    differs = "block size";
  else if (request->construction_chosen &&
           (blkhash_opts_get_streams (chosen) !=
            blkhash_opts_get_streams (opts) ||
            blkhash_opts_get_linear (chosen) !=
            blkhash_opts_get_linear (opts)))
    differs = "construction";
  if (differs)
    usage_error ("--expect: its checksum is not one by this %s", differs);
}

/* The checksum in the manifest at PATH, with how it was made; or NULL: why not
 * was reported.
 */
static char *
manifest_text (const struct expect_request *request, const char *path)
{
  struct hash_request any = { .progress = request->hash.progress };
  struct error error = { "" };
  struct sum sum;
  char *text;

  any.progress.aside = true;
  if (job_manifest (&any, path, &sum, &error) == -1) {
    report (request->expected, &error);
    return NULL;
  }
  text = sum_line (sum.hash, sum.md, sum.md_len, NULL, true, false);
  blkhash_opts_free (sum.hash);
  if (!text)
    usage_error ("--expect: no memory");
  return text;
}

/* 0, or -1 if a manifest could not be read. */
static int
parse (const struct expect_request *request, struct expected *expected)
{
  const struct source_options *source = &request->hash.source;
  const char *path = job_manifest_path (request->expected);
  struct error error = { "" };

  if (path && job_manifest_is_stdin (source, request->expected) &&
      job_manifest_is_stdin (source, request->operand))
    usage_error ("--expect: standard input cannot be both the manifest and the "
                 "image");
  *expected = (struct expected) {
    .text = path ? manifest_text (request, path) : strdup (request->expected)
  };
  if (!expected->text && path)
    return -1;
  if (!expected->text)
    usage_error ("--expect: no memory");
  split (expected);
  if (known_set (&expected->known, expected->kind, expected->hex,
                 request->hash.opts, &error) == -1)
    usage_error ("--expect: %s", error.text);
  check_chosen (&request->hash, expected->known.opts);
  return 0;
}

/* Both numbers, one below the other. */
static void
say_difference (const char *name, const struct expected *expected,
                const struct sum *sum)
{
  char *got = sum_line (expected->known.opts, sum->md, sum->md_len, NULL, true,
                        false);
  int kind = got ? strcspn (got, " ") : 0;
  struct error error = { "" };
  char lines[1024];

  snprintf (lines, sizeof lines, "expected %.*s = %s\ngot      %s\n", kind,
            got ? got : "", expected->hex, got ? got : "another checksum");
  error_set_lines (&error, lines);
  report (name, &error);
  free (got);
}

/* What follows the image does not change the status, unless it cannot be read:
 * then a part of the answer is missing.
 */
static int
tell_follows (const struct expect_request *request, struct source *source)
{
  struct follows follows;
  struct error error = { "" };
  int err;

  if (follows_find (&request->hash.progress, source, &follows, &error) == -1) {
    report (request->operand, &error);
    return EXIT_TROUBLE;
  }
  err = follows_print (request->operand, &follows);
  if (err)
    report_write_failed (err);
  return EXIT_SUCCESS;
}

static int
conclude (const struct expect_request *request,
          const struct expected *expected, const struct sum *sum,
          struct source *source)
{
  bool same = known_matches (expected->hex, sum);
  int err;

  if (request->quiet)
    return same ? EXIT_SUCCESS : EXIT_DIFFERS;
  err = verdict_print (request->operand, same ? "OK" : "FAILED");
  if (!same)
    say_difference (request->operand, expected, sum);
  if (err)
    report_write_failed (err);
  if (!same)
    return EXIT_DIFFERS;
  return source ? tell_follows (request, source) : EXIT_SUCCESS;
}

static int
compare (const struct expect_request *request,
         const struct expected *expected)
{
  const char *name = request->operand;
  struct hash_request hash = request->hash;
  struct error error = { "" };
  struct source *source = NULL; /* of a manifest there is none */
  struct sum sum;
  int status = EXIT_TROUBLE;

  hash.opts = expected->known.opts;
  hash.construction_chosen = true; /* no manifest of another kind */
  if (!job_manifest_path (name) &&
      source_open (&hash.source, name, &source, &error) == -1) {
    report (name, &error);
    return EXIT_TROUBLE;
  }
  if ((source ? job_hash_source (&hash, source, &sum, &error)
              : job_hash (&hash, name, &sum, &error)) == -1)
    report (name, &error);
  else {
    status = conclude (request, expected, &sum, source);
    blkhash_opts_free (sum.hash);
  }
  if (source)
    source_close (source);
  return status;
}

int
job_expect (const struct expect_request *request)
{
  struct expected expected;
  int status;

  if (request->subset.n > 0 && !job_manifest_path (request->expected))
    usage_error ("--subset needs --expect of a manifest, as manifest:FILE: a "
                 "checksum is of the whole image");
  if (request->subset.n > 0)
    return job_expect_subset (request);
  if (parse (request, &expected) == -1)
    return EXIT_TROUBLE;
  status = compare (request, &expected);
  known_destroy (&expected.known);
  free (expected.text);
  return status;
}

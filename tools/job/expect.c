/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: does an image have the checksum that it should have?
 *
 * The checksum is "HEX"; or "blk-DIGEST/SIZE:HEX", in one word for programs
 * that hand it on; or what --tag --no-names prints.
 */

#include <config.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/sum-line.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/expect.h"
#include "job/hash.h"
#include "job/known.h"
#include "util/error.h"

struct expected {
  char *text;                   /* what follows points into it */
  const char *kind;             /* "sha256/64k", or NULL: it does not say */
  const char *hex;
  struct blkhash_opts *opts;    /* of the image */
};

/* A checksum of a file, as of sha256sum: a prefix that others use. */
static void refuse_prefix (const char *prefix) __attribute__ ((noreturn));

static void
refuse_prefix (const char *prefix)
{
  struct blkhash_opts *opts = blkhash_opts_new (prefix);

  if (!opts)
    usage_error ("--expect: '%s' is not blk-DIGEST/SIZE", prefix);
  usage_error ("--expect: '%s' is the checksum of a file as it is stored, like "
               "that of sha256sum; blk-%s/SIZE is that of the disk in it, "
               "another number",
               prefix, blkhash_opts_get_digest_name (opts));
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
check_options (const struct options *options, const struct blkhash_opts *opts)
{
  const struct blkhash_opts *chosen = options->hash;
  const char *differs = NULL;

  if (options->digest_chosen &&
      strcmp (blkhash_opts_get_digest_name (chosen),
              blkhash_opts_get_digest_name (opts)) != 0)
    differs = "digest";
  else if (options->block_size_chosen &&
           blkhash_opts_get_block_size (chosen) !=
           blkhash_opts_get_block_size (opts))
    differs = "block-size";
  else if (options->streams_chosen &&
           blkhash_opts_get_streams (chosen) !=
           blkhash_opts_get_streams (opts))
    differs = "streams";
  if (differs)
    usage_error ("--expect: its checksum is not one by this --%s", differs);
}

static void
parse (const struct options *options, struct expected *expected)
{
  struct error error = { "" };

  *expected = (struct expected) { .text = strdup (options->expect) };
  if (!expected->text)
    usage_error ("--expect: no memory");
  split (expected);
  expected->opts = known_opts (expected->kind, expected->hex, options->hash,
                               &error);
  if (!expected->opts)
    usage_error ("--expect: %s", error.text);
  check_options (options, expected->opts);
}

/* Both numbers, one below the other. */
static void
say_difference (const char *name, const struct expected *expected,
                const struct sum *sum)
{
  char *got = sum_line (expected->opts, sum->md, sum->md_len, NULL, true,
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

static int
conclude (const struct options *options, const char *name,
          const struct expected *expected, const struct sum *sum)
{
  bool same = known_matches (expected->hex, sum);
  int err = 0;

  if (options->check_report != CHECK_QUIET) {
    err = verdict_print (name, same ? "OK" : "FAILED");
    if (!same)
      say_difference (name, expected, sum);
  }
  if (err)
    report_write_failed (err);
  return same ? EXIT_SUCCESS : EXIT_DIFFERS;
}

int
job_expect (const struct options *options)
{
  const char *name = options->operands[0];
  struct options its_options = *options;
  struct error error = { "" };
  struct expected expected;
  struct sum sum;
  int status = EXIT_TROUBLE;

  if (options->nr_operands > 1)
    usage_error ("--expect is for one image");
  parse (options, &expected);
  its_options.hash = expected.opts;
  if (job_hash (&its_options, name, &sum, &error) == -1)
    report (name, &error);
  else
    status = conclude (options, name, &expected, &sum);
  blkhash_opts_free (expected.opts);
  free (expected.text);
  return status;
}

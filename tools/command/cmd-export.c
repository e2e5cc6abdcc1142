/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash export: what other programs verify an image with, from its manifest.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "util/error.h"

#define UUID_TEXT_SIZE sizeof "00000000-0000-0000-0000-000000000000"
#define SECTOR_SIZE 512

struct export_options {
  struct input_options input;
  unsigned form;                /* enum export_form; EXPORT_FORMS: none */
  const char *image, *descriptor;
  bool no_superblock;
  bool has_uuid;
  unsigned char uuid[EXPORT_UUID_SIZE];
};

/* ---- Options ---- */

/* A hyphen is before these bytes of a UUID. */
static bool
is_after_hyphen (size_t i)
{
  return i == 4 || i == 6 || i == 8 || i == 10;
}

static void
format_uuid (const unsigned char *uuid, char text[UUID_TEXT_SIZE])
{
  for (size_t i = 0; i < EXPORT_UUID_SIZE; i++)
    text += sprintf (text, "%s%02x", is_after_hyphen (i) ? "-" : "", uuid[i]);
}

static void
set_uuid (void *opaque, const struct option_use *use)
{
  struct export_options *options = opaque;
  const char *text = use->arg;
  char formatted[UUID_TEXT_SIZE];

  for (size_t i = 0; i < EXPORT_UUID_SIZE; i++) {
    unsigned byte;
    int n = 0;

    text += is_after_hyphen (i) && *text == '-';
    sscanf (text, "%2x%n", &byte, &n);
    if (n != 2)
      break;
    options->uuid[i] = byte;
    text += n;
  }
  format_uuid (options->uuid, formatted);
  if (strcasecmp (formatted, use->arg) != 0)
    usage_invalid ("--uuid: '%s' is not a UUID", use->arg);
  options->has_uuid = true;
}

#define FIELD(name) OPTION_FIELD (struct export_options, name)

static const struct option_row rows[] = {
  { 0, "to", "FORM", "verity, fsverity or leaves",
    .words = "verity fsverity leaves", FIELD (form) },
  { 0, "uuid", "UUID", "verity: of the superblock; default: nil",
    .set = set_uuid },
  { 0, "no-superblock", NULL, "verity: write only the hash tree",
    FIELD (no_superblock), .value = true },
  { 0, "descriptor", "OUT", "fsverity: also write the descriptor",
    FIELD (descriptor) },
  { 0, "image", "FILE", "fsverity: the raw image, whose last block is\nread if "
    "it is short", FIELD (image) },
  { 'f', "format", "FMT", "of --image: raw; default: probe",
    OPTION_FIELD (struct input_options, hash.source.format) },
  OUTPUT_ROW,
  PROGRESS_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  { "", standard_rows },
  { NULL, NULL },
};

static void
check_usage (const struct export_options *options, const char *out,
             int nr_operands)
{
  bool verity = options->form == EXPORT_VERITY;
  bool fsverity = options->form == EXPORT_FSVERITY;
  struct stat st;

  if (options->form == EXPORT_FORMS)
    usage_error ("--to FORM is missing: verity, fsverity or leaves");
  if (options->has_uuid && !verity)
    usage_error ("--uuid is for --to verity");
  if (options->no_superblock && !verity)
    usage_error ("--no-superblock is for --to verity");
  if (options->has_uuid && options->no_superblock)
    usage_error ("--uuid cannot be used with --no-superblock");
  if (options->descriptor && !fsverity)
    usage_error ("--descriptor is for --to fsverity");
  if (options->image && !fsverity)
    usage_error ("--image is for --to fsverity");
  if (options->input.hash.source.format && !options->image)
    usage_error ("--format is for --image");
  if (fsverity && nr_operands == 2)
    usage_error ("--to fsverity has one operand, the manifest; --descriptor "
                 "OUT writes a file");
  if (!fsverity && nr_operands == 1)
    usage_error ("the operand OUT, a new file, is missing");
  if (out && strcmp (out, "-") == 0)
    usage_error ("OUT cannot be standard output: it is complete only when the "
                 "manifest was verified");
  if (verity && out && stat (out, &st) == 0 && S_ISBLK (st.st_mode))
    usage_invalid ("%s is a device, and OUT is a new file: write one, and copy "
                   "it by dd if=FILE of=%s", out, out);
}

/* ---- Output ---- */

/* The begin function of a struct export_request. */
static void
print_size (void *opaque, uint64_t size)
{
  const struct export_request *request = opaque;
  struct error line = { "" };

  error_set (&line, "writing %" PRIu64 " bytes", size);
  report (request->out, &line);
}

static void
print_verity_json (const struct export_request *request,
                   const struct export_result *result, const char *digest,
                   const char *root)
{
  const uint64_t size = result->sum.size, blocks = size / EXPORT_BLOCK_SIZE;
  char uuid[UUID_TEXT_SIZE];

  printf (",\"verity\":{\"root-hash\":\"%s\",\"algorithm\":\"%s\","
          "\"salt\":\"-\",\"format\":1,\"data-block-size\":%d,"
          "\"hash-block-size\":%d,\"data-blocks\":%" PRIu64
          ",\"hash-start-block\":%d", root, digest, EXPORT_BLOCK_SIZE,
          EXPORT_BLOCK_SIZE, blocks, request->superblock);
  if (request->superblock) {
    format_uuid (request->uuid, uuid);
    printf (",\"uuid\":\"%s\"", uuid);
  }
  printf (",\"table\":\"0 %" PRIu64 " verity 1 DATA HASH %d %d %" PRIu64
          " %d %s %s -\",\"size\":%" PRIu64 "}", size / SECTOR_SIZE,
          EXPORT_BLOCK_SIZE, EXPORT_BLOCK_SIZE, blocks, request->superblock,
          digest, root, result->out_size);
}

static void
print_json (const struct export_request *request,
            const struct export_result *result, const char *name,
            const char *digest, const char *hex)
{
  char text[SUM_TEXT_SIZE];

  fputs ("{\"name\":", stdout);
  json_string (stdout, name);
  sum_line_text (result->sum.hash, result->sum.md, text);
  printf (",\"sum\":\"%s\",\"size\":%" PRIu64, text, result->sum.size);
  switch (request->form) {
  case EXPORT_VERITY:
    print_verity_json (request, result, digest, hex);
    break;
  case EXPORT_FSVERITY:
    printf (",\"fsverity\":{\"digest\":\"%s:%s\",\"block-size\":%d}", digest,
            hex, EXPORT_BLOCK_SIZE);
    break;
  default:
    printf (",\"leaves\":{\"digest\":\"%s:%s\",\"size\":%" PRIu64 "}", digest,
            hex, result->out_size);
  }
  printf (",\"seconds\":%.6f", result->sum.seconds);
  output_result (EXIT_SUCCESS);
  if (!ferror (stdout))
    putchar ('\n');
}

/* Print the RESULT for the manifest NAME, or as a sum that of the leaves.  The
 * name of an image is not beside the digest of fs-verity, as fsverity(1) prints
 * it: only the last block of the image was compared.
 */
static void
print_result (const struct export_options *options,
              const struct export_request *request,
              const struct export_result *result, const char *name)
{
  const struct sum *sum = &result->sum;
  const char *digest = blkhash_opts_get_digest_name (sum->hash);
  bool leaves = request->form == EXPORT_LEAVES;
  char hex[SUM_HEX_SIZE], *line;

  sum_line_hex (leaves ? sum->md : result->root, sum->md_len, hex);
  errno = 0;
  if (options->input.output.form == OUTPUT_JSON)
    print_json (request, result, name, digest, hex);
  else if (leaves) {
    line = sum_line (sum->hash, sum->md, sum->md_len, name, true, true);
    if (!line)
      report_write_failed (ENOMEM);
    puts (line);
    free (line);
  }
  else if (request->form == EXPORT_FSVERITY)
    printf ("%s:%s\n", digest, hex);
  else
    puts (hex);
  program_flush ();
}

/* ---- The command ---- */

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct export_options *options = opaque;
  struct export_request request = {
    .hash = options->input.hash,
    .form = options->form,
    .manifest = operands[0],
    .out = nr_operands == 2 ? operands[1] : options->descriptor,
    .image = options->image,
    .superblock = options->form == EXPORT_VERITY && !options->no_superblock,
    .begin = print_size,
    .opaque = &request,
  };
  struct export_result result;
  struct error error = { "" };
  const char *operand;
  enum job_status r;
  char *name;
  int status;

  check_usage (options, request.out, nr_operands);
  memcpy (request.uuid, options->uuid, EXPORT_UUID_SIZE);
  if (asprintf (&name, "manifest:%s", job_manifest_file (operands[0])) == -1)
    usage_failed ("export");
  r = job_export (&request, &result, &operand, &error);
  status = r == JOB_DONE ? EXIT_SUCCESS
    : r == JOB_DIFFERS ? EXIT_DIFFERS : EXIT_TROUBLE;
  if (r == JOB_DONE)
    print_result (options, &request, &result, name);
  else {
    char *remedy = strstr (error.text, "; --force-share");

    if (remedy)                 /* export does not have this option */
      *remedy = '\0';
    output_failure (&options->input.output, name, operand, &error, status);
  }
  blkhash_opts_free (result.sum.hash);
  free (name);
  return status;
}

const struct command cmd_export = {
  .name = "export",
  .summary = "write a manifest for dm-verity, fs-verity or a registry",
  .usage =
  "Usage: blkhash export --to FORM [OPTION]... MANIFEST [OUT]\n"
  "Make what dm-verity, fs-verity or a registry verifies an image with, from\n"
  "its manifest.  OUT is a new file.\n",
  .groups = groups,
  .options_size = sizeof (struct export_options),
  .defaults = &(const struct export_options) { .form = EXPORT_FORMS },
  .min_operands = 1, .max_operands = 2,
  .operands = "the operands are a manifest and OUT, a new file",
  .run = run,
};

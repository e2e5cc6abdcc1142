/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/hash-spec.h"
#include "../lib/common/util.h"
#include "blkhash.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "format/probe.h"
#include "util/source-options.h"

/* ---- Options that a row cannot describe ---- */

/* The argument is a hash spec, with or without the "blk-" of a tag.  Only the
 * last --digest counts.  Its block size, if any, must agree with --block-size:
 * see resolve_block_size.
 */
void
input_set_digest (void *options, const struct option_use *use)
{
  struct input_options *input = options;
  struct blkhash_opts *opts = NULL;
  struct hash_spec spec;

  if (hash_spec_parse_user (use->arg, &spec) != 0) {
    if (strchr (use->arg, '/'))
      usage_invalid ("--digest: '%s' is not DIGEST[/SIZE[/sN|/linear]]",
                     use->arg);
  }
  else {
    input->digest_block_size = spec.block_size;
    spec.block_size = 0;
    opts = hash_spec_opts (&spec, input->hash.opts);
    if (!opts && errno != EINVAL)
      usage_failed ("--digest");
  }
  if (!opts)
    usage_invalid ("unknown digest '%s', see --list-digests", use->arg);
  if (blkhash_opts_set_streams (opts, spec.streams) != 0)
    usage_invalid ("--digest: '%s' has more than 1024 streams", use->arg);
  blkhash_opts_set_linear (opts, spec.linear);
  blkhash_opts_free (input->hash.opts);
  input->hash.opts = opts;
  input->hash.digest_fixed = true;
  input->hash.construction_fixed = input->digest_block_size != 0;
}

void
input_set_block_size (void *options, const struct option_use *use)
{
  struct input_options *input = options;

  if (blkhash_opts_set_block_size (input->hash.opts, use->number) != 0)
    usage_invalid ("--block-size: '%s' is not a power of two from 4 to 16m",
                   use->arg);
  input->hash.block_size_fixed = true;
}

/* Combine --digest and --block-size, in any order. */
static void
resolve_block_size (struct input_options *input)
{
  uint32_t size = input->digest_block_size;

  if (size == 0)
    return;
  if (input->hash.block_size_fixed &&
      blkhash_opts_get_block_size (input->hash.opts) != size)
    usage_invalid ("--digest and --block-size give different block sizes");
  if (blkhash_opts_set_block_size (input->hash.opts, size) != 0)
    usage_invalid ("--digest: the block size is not a power of two from 4 to "
                   "16m");
  input->hash.block_size_fixed = true;
}

static void
set_size (void *options, const struct option_use *use)
{
  struct input_options *input = options;

  input->hash.source.size = use->number;
}

void
input_set_part (void *options, const struct option_use *use)
{
  struct input_options *input = options;

  if (part_parse (&input->part, use->arg) == -1)
    usage_invalid ("--part: '%s' is not I/N, with I from 0 to N - 1, and N up "
                   "to %d", use->arg, PART_MAX);
}

static void
set_cache (void *options, const struct option_use *use)
{
  struct input_options *input = options;

  input->hash.source.cache = true;
  input->hash.source.refuse_sums |= use->by_letter;
}

void
input_set_progress (void *options, const struct option_use *use)
{
  struct input_options *input = options;

  input->progress.bar = !use->arg;
  if (!use->arg)
    input->progress.fd = isatty (STDERR_FILENO) ? STDERR_FILENO : -1;
  else {
    input->progress.fd = use->number;
    if (fcntl (input->progress.fd, F_GETFD) == -1)
      usage_invalid ("--progress: descriptor %s is not open", use->arg);
  }
}

void
input_append (const char ***list, size_t *count, const struct option_use *use)
{
  *list = reallocarray (*list, *count + 1, sizeof (char *));
  if (!*list)
    usage_failed (use->row->name);
  (*list)[(*count)++] = use->arg;
}

/* Report an invalid format before anything is read, and not once for each
 * operand.
 */
void
input_check_format (const char *format)
{
  const char *meant;
  char *list;

  if (!format || format_is_known (format))
    return;
  if (format_is_unread (format))
    usage_invalid ("images in the format %s cannot be read: "
                   FORMAT_CONVERT_HINT, format, format);
  meant = format_by_alias (format);
  list = format_list ();
  usage_invalid ("unknown format '%s'%s%s%s; the formats here are %s", format,
                 meant ? " (did you mean " : "", meant ? meant : "",
                 meant ? "?)" : "", list ? list : "raw");
}

void
input_print_digests (const struct command *command)
{
  size_t i, count = blkhash_digests (NULL, 0);
  const char **names = calloc (count, sizeof *names);

  (void) command;
  if (!names)
    usage_failed ("--list-digests");
  blkhash_digests (names, count);
  for (i = 0; i < count; i++)
    puts (names[i]);
  free (names);
}

/* ---- The rows ---- */

const struct option_row format_rows[] = {
  { 'f', "format", "FMT",
    "raw, qcow2 or another of qemu; default: probe",
    OPTION_FIELD (struct input_options, hash.source.format) },
  { .name = NULL },
};

const struct option_row input_rows[] = {
  { 0, "size", "SIZE", "the image is the first SIZE bytes of the disk",
    OPTION_SIZE (0, SOURCE_WHOLE - 1), .set = set_size },
  { 'U', "force-share", NULL, "read an image that is in use",
    OPTION_FIELD (struct input_options, hash.source.force_share),
    .value = true },
  { 0, "no-extents", NULL, "read holes too",
    OPTION_FIELD (struct input_options, hash.source.extents), .value = false },
  { 'c', "cache", NULL, "leave what was read in the page cache",
    .set = set_cache },
  { 't', "threads", "N", "threads that read and hash; default: CPUs",
    OPTION_NUMBER (1, SOURCE_MAX_THREADS),
    OPTION_FIELD (struct input_options, hash.source.threads) },
  PROGRESS_ROW,
  { 0, "queue-size", "SIZE", "limit of bytes in flight from an NBD server",
    OPTION_SIZE (1, 1024 * 1024 * 1024),
    OPTION_FIELD (struct input_options, hash.source.queue_size) },
  { .name = NULL },
};

/* ---- All options ---- */

/* Print a warning while a job runs. */
static void
warn (const char *name, const struct error *error)
{
  progress_hide ();
  report (name, error);
  progress_show ();
}

static void
set_defaults (struct input_options *input, const struct command *command)
{
  long cpus = sysconf (_SC_NPROCESSORS_ONLN);

  *input = (struct input_options) {
    .hash = {
      .opts = blkhash_opts_new ("sha256"),
      .source = {
        .size = SOURCE_WHOLE,
        .extents = true,
        .memory = SOURCE_MEMORY,
        /* All online CPUs: the default of the library is at most 16 threads. */
        .threads = cpus < 1 ? 1 : MIN (cpus, SOURCE_MAX_THREADS),
        .read_size = 1024 * 1024,
        .warn = warn,
      },
      .progress.update = progress_update,
    },
    .progress.fd = -1,
    .output.tag = command->name != NULL,
  };
  if (!input->hash.opts)
    usage_failed ("sha256");
}

int
input_run (const struct command *command, int argc, char *argv[])
{
  struct input_options *input = calloc (1, command->options_size);
  int first, nr_operands, status;

  if (!input)
    usage_failed ("options");
  if (command->defaults)
    memcpy (input, command->defaults, command->options_size);
  set_defaults (input, command);
  first = command_line_parse (command, input, argc, argv);
  nr_operands = argc - first;
  if (nr_operands < command->min_operands ||
      nr_operands > command->max_operands)
    usage_error ("%s", command->operands);
  input_check_format (input->hash.source.format);
  resolve_block_size (input);
  blkhash_opts_set_threads (input->hash.opts, input->hash.source.threads);
  progress_start (&input->progress);
  status = command->run (input, nr_operands, argv + first);
  blkhash_opts_free (input->hash.opts);
  free (input);
  return status;
}

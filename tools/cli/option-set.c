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

#include "blkhash.h"

#include "../lib/common/hash-spec.h"
#include "../lib/common/strata.h"
#include "cli/command-line.h"
#include "cli/option-set.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "format/format.h"

/* The argument is a hash spec, with or without the "blk-" of a tag.  Only the
 * last --digest counts.  Its block size, if any, must agree with --block-size:
 * see option_resolve_block_size.
 */
void
option_set_digest (struct options *options, const struct option_use *use)
{
  bool tag = strncmp (use->arg, "blk-", 4) == 0;
  struct blkhash_opts *opts = NULL;
  struct hash_spec spec;

  if (hash_spec_parse (use->arg + (tag ? 4 : 0), &spec) != 0) {
    if (strchr (use->arg, '/'))
      usage_error ("--digest: '%s' is not DIGEST[/SIZE[/sN|/linear]]",
                   use->arg);
  }
  else {
    options->digest_block_size = spec.block_size;
    spec.block_size = 0;
    opts = hash_spec_opts (&spec, options->hash.opts);
    if (!opts && errno != EINVAL) {
      perror ("blksum");
      exit (EXIT_TROUBLE);
    }
  }
  if (!opts)
    usage_error ("unknown digest '%s', see --list-digests", use->arg);
  if (blkhash_opts_set_streams (opts, spec.streams) != 0)
    usage_error ("--digest: '%s' has more than 1024 streams", use->arg);
  blkhash_opts_set_linear (opts, spec.linear);
  blkhash_opts_free (options->hash.opts);
  options->hash.opts = opts;
  options->hash.digest_fixed = true;
  options->hash.construction_fixed = options->digest_block_size != 0;
}

void
option_set_block_size (struct options *options, const struct option_use *use)
{
  if (blkhash_opts_set_block_size (options->hash.opts, use->number) != 0)
    usage_error ("--block-size: '%s' is not a power of two from 4 to 16m",
                 use->arg);
  options->hash.block_size_fixed = true;
}

/* Combine --digest and --block-size, in any order. */
void
option_resolve_block_size (struct options *options)
{
  uint32_t size = options->digest_block_size;

  if (size == 0)
    return;
  if (options->hash.block_size_fixed &&
      blkhash_opts_get_block_size (options->hash.opts) != size)
    usage_error ("--digest and --block-size give different block sizes");
  if (blkhash_opts_set_block_size (options->hash.opts, size) != 0)
    usage_error ("--digest: the block size is not a power of two from 4 to "
                 "16m");
  options->hash.block_size_fixed = true;
}

void
option_set_size (struct options *options, const struct option_use *use)
{
  options->hash.source.size = use->number;
}

void
option_set_part (struct options *options, const struct option_use *use)
{
  if (part_parse (&options->part, use->arg) == -1)
    usage_error ("--part: '%s' is not I/N, with I from 0 to N - 1, and N up to "
                 "%d", use->arg, PART_MAX);
}

/* Parse "N%", with up to six decimals.  Returns millionths of a percent. */
static uint32_t
parse_share (const struct option_use *use)
{
  uint32_t share;

  if (!strata_parse_share (use->arg, &share))
    usage_error ("--%s: '%s' is not a number from 0 to 100, with up to six "
                 "decimals, and a percent sign", use->row->name, use->arg);
  return share;
}

void
option_set_audit (struct options *options, const struct option_use *use)
{
  options->update.audit = parse_share (use);
}

void
option_add_repair_source (struct options *options,
                          const struct option_use *use)
{
  options->repair.sources[options->repair.nr_sources++] = use->arg;
}

void
option_set_repair_limit (struct options *options, const struct option_use *use)
{
  options->repair.limit = parse_share (use);
}

void
option_set_threads (struct options *options, const struct option_use *use)
{
  blkhash_opts_set_threads (options->hash.opts, use->number);
}

void
option_set_cache (struct options *options, const struct option_use *use)
{
  options->hash.source.cache = true;
  options->hash.source.refuse_sums |= use->by_letter;
}

void
option_set_progress (struct options *options, const struct option_use *use)
{
  options->progress.bar = !use->arg;
  if (!use->arg)
    options->progress.fd = isatty (STDERR_FILENO) ? STDERR_FILENO : -1;
  else {
    options->progress.fd = use->number;
    if (fcntl (options->progress.fd, F_GETFD) == -1)
      usage_error ("--progress: descriptor %s is not open", use->arg);
  }
}

void
option_set_output (struct options *options, const struct option_use *use)
{
  options->form_chosen = true;
  if (strcmp (use->arg, "json") == 0)
    options->form = OUTPUT_JSON;
  else if (strcmp (use->arg, "human") == 0)
    options->form = OUTPUT_PLAIN;
  else if (strcmp (use->arg, "mapfile") == 0)
    options->form = OUTPUT_MAPFILE;
  else
    usage_error ("--output: '%s' is none of human, json and mapfile", use->arg);
}

/* Report an invalid format before anything is read, and not once for each
 * operand.
 */
void
option_check_format (const char *format)
{
  const char *meant;
  char *list;

  if (format_is_known (format))
    return;
  if (format_is_unread (format))
    usage_error ("images in the format %s cannot be read: "
                 FORMAT_CONVERT_HINT, format, format);
  meant = format_by_alias (format);
  list = format_list ();
  usage_error ("unknown format '%s'%s%s%s; the formats here are %s", format,
               meant ? " (did you mean " : "", meant ? meant : "",
               meant ? "?)" : "", list ? list : "raw");
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the sum of one source: as a line like that of sha256sum, as a tagged
 * line, or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "blkhash.h"

#include "../lib/common/json-string.h"
#include "../lib/common/sum-line.h"
#include "cli/output.h"
#include "util/result.h"

/* ---- JSON ---- */

/* The object is printed member by member, and not by json-c, which, if there is
 * no memory, prints null or omits a part of the text.  After a write error
 * the closing brace is not printed, so that a truncated object is invalid.
 */

static void
print_json_string (const char *key, const char *value)
{
  printf (",\"%s\":", key);
  json_string (stdout, value);
}

static void
print_number (const char *key, uint64_t value)
{
  printf (",\"%s\":%" PRIu64, key, value);
}

static void
print_checksum (const struct sum *sum)
{
  char hex[SUM_HEX_SIZE];

  sum_line_hex (sum->md, sum->md_len, hex);
  printf ("\"checksum\":\"%s\"", hex);
}

static void
print_hash (const struct blkhash_opts *hash)
{
  unsigned streams = blkhash_opts_get_streams (hash);

  print_json_string ("digest", blkhash_opts_get_digest_name (hash));
  print_number ("block-size", blkhash_opts_get_block_size (hash));
  print_json_string ("construction",
                     streams ? "streams"
                     : blkhash_opts_get_linear (hash) ? "linear" : "flat");
  if (streams)
    print_number ("streams", streams);
}

static void
print_json (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  putchar ('{');
  if (!options->no_names) {
    fputs ("\"name\":", stdout);
    json_string (stdout, name);
    putchar (',');
  }
  print_checksum (sum);
  print_hash (hash);
  print_json_string ("format", sum->format);
  print_number ("size", sum->size);
  print_number ("data-bytes", sum->data);
  print_number ("zero-bytes", sum->zero);
  print_number ("hole-bytes", sum->hole);
  if (sum->incremental) {
    fputs (",\"incremental\":true", stdout);
    print_number ("read", sum->read);
  }
  printf (",\"seconds\":%.6f", sum->seconds);
  if (!ferror (stdout))
    putchar ('}');
}

/* ---- Lines and JSON ---- */

/* Returns 0, or ENOMEM. */
static int
print_line (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  char *line = sum_line (hash, sum->md, sum->md_len,
                         options->no_names ? NULL : name, options->tag,
                         !options->zero);

  if (!line)
    return ENOMEM;
  fputs (line, stdout);
  free (line);
  return 0;
}

/* Only the call that fails sets errno, and which call that is depends on when
 * the C library flushes.  So errno is cleared before the first call.
 */
int
output_sum (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  const char end = options->zero ? '\0' : '\n';

  errno = 0;
  if (options->form == OUTPUT_JSON)
    print_json (options, name, hash, sum);
  else if (print_line (options, name, hash, sum) != 0)
    return ENOMEM;
  if (ferror (stdout) || putchar (end) == EOF || fflush (stdout) == EOF)
    return errno ? errno : EIO;
  return 0;
}

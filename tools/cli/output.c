/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the sum of one source: as a line like that of sha256sum, as a tagged
 * line, or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "blkhash.h"

#include "../lib/common/sum-line.h"
#include "../lib/common/utf8.h"
#include "cli/options.h"
#include "cli/output.h"
#include "util/result.h"

/* JSON is UTF-8, and names are bytes: invalid UTF-8 is replaced by U+FFFD. */
static struct json_object *
json_name (const char *name)
{
  static const char replacement[] = "\xef\xbf\xbd";
  struct json_object *json = NULL;
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (!out)
    return NULL;
  while (*name) {
    size_t n = utf8_length (name);

    if (n > 0)
      fwrite (name, 1, n, out);
    else
      fputs (replacement, out), n = 1;
    name += n;
  }
  if (fclose (out) == 0)
    json = json_object_new_string_len (text, size);
  free (text);
  return json;
}

static void
add_number (struct json_object *json, const char *key, uint64_t value)
{
  json_object_object_add (json, key, json_object_new_uint64 (value));
}

static void
add_string (struct json_object *json, const char *key, const char *value)
{
  json_object_object_add (json, key, json_object_new_string (value));
}

static void
add_seconds (struct json_object *json, const char *key, double value)
{
  char text[32];

  snprintf (text, sizeof text, "%.6f", value);
  json_object_object_add (json, key, json_object_new_double_s (value, text));
}

static void
add_reads (struct json_object *json, const struct sum *sum)
{
  add_number (json, "reads", sum->reads.count);
  if (sum->reads.count == 0)
    return;
  add_number (json, "reads-in-flight", sum->reads.in_flight);
  add_seconds (json, "read-latency-median", sum->reads.latency / 1e9);
  add_seconds (json, "read-latency-p99", sum->reads.latency_p99 / 1e9);
}

static struct json_object *
json_hex (const struct sum *sum)
{
  char *hex = sum_line_hex (sum->md, sum->md_len);
  struct json_object *json = hex ? json_object_new_string (hex) : NULL;

  free (hex);
  return json;
}

static const struct blkhash_opts *
hash_of (const struct options *options, const struct sum *sum)
{
  return sum->hash ? sum->hash : options->hash.opts;
}

static char *
json_line (const struct options *options, const char *name,
           const struct sum *sum)
{
  struct json_object *json = json_object_new_object ();
  const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
  const struct blkhash_opts *hash = hash_of (options, sum);
  unsigned streams = blkhash_opts_get_streams (hash);
  char *line;

  if (options->names)
    json_object_object_add (json, "name", json_name (name));
  json_object_object_add (json, "checksum", json_hex (sum));
  add_string (json, "digest", blkhash_opts_get_digest_name (hash));
  add_number (json, "block-size", blkhash_opts_get_block_size (hash));
  add_string (json, "construction",
              streams ? "streams"
              : blkhash_opts_get_linear (hash) ? "linear" : "flat");
  if (streams)
    add_number (json, "streams", streams);
  add_string (json, "format", sum->format);
  add_number (json, "size", sum->size);
  add_number (json, "data-bytes", sum->data);
  add_number (json, "zero-bytes", sum->zero);
  add_number (json, "hole-bytes", sum->hole);
  if (sum->incremental) {
    json_object_object_add (json, "incremental", json_object_new_boolean (1));
    add_number (json, "read", sum->read);
  }
  add_reads (json, sum);
  add_seconds (json, "seconds", sum->seconds);
  line = strdup (json_object_to_json_string_ext (json, flags));
  json_object_put (json);
  return line;
}

/* Write LINE and END.  Returns 0, or an errno value.  A failure sets errno only
 * once, in the call that fails; which call that is depends on when the C
 * library flushes.
 */
static int
put_line (const char *line, char end)
{
  errno = 0;
  if (fputs (line, stdout) == EOF || putchar (end) == EOF ||
      fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

int
output_sum (const struct options *options, const char *name,
            const struct sum *sum)
{
  char *line = options->form == OUTPUT_JSON
    ? json_line (options, name, sum)
    : sum_line (hash_of (options, sum), sum->md, sum->md_len,
                options->names ? name : NULL, options->form == OUTPUT_TAG,
                !options->zero_terminated);
  int err;

  if (!line)
    return ENOMEM;
  err = put_line (line, options->zero_terminated ? '\0' : '\n');
  free (line);
  return err;
}

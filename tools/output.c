/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum of one source, printed as sha256sum would, tagged, or as JSON.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "blkhash.h"
#include "options.h"
#include "output.h"

#define HEX_SIZE (2 * BLKHASH_MAX_MD_SIZE + 1)

static void
to_hex (const struct sum *sum, char hex[HEX_SIZE])
{
  unsigned i;

  hex[0] = '\0';
  for (i = 0; i < sum->md_len; i++)
    sprintf (hex + 2 * i, "%02x", sum->md[i]);
}

/* As coreutils does: a line with an escaped name starts with a backslash. */
static void
print_name (const char *name, bool escape)
{
  for (; *name; name++)
    if (escape && *name == '\\')
      fputs ("\\\\", stdout);
    else if (escape && *name == '\n')
      fputs ("\\n", stdout);
    else if (escape && *name == '\r')
      fputs ("\\r", stdout);
    else
      putchar (*name);
}

/* How the sum was made: blk-sha256/64k, or blk-sha256/64k/s64. */
static void
print_tag (const struct blkhash_opts *opts)
{
  uint32_t size = blkhash_opts_get_block_size (opts);
  unsigned streams = blkhash_opts_get_streams (opts);
  const char *unit = "";

  if (size % (1024 * 1024) == 0)
    size /= 1024 * 1024, unit = "m";
  else if (size % 1024 == 0)
    size /= 1024, unit = "k";
  printf ("blk-%s/%u%s", blkhash_opts_get_digest_name (opts), size, unit);
  if (streams > 0)
    printf ("/s%u", streams);
}

static void
print_line (const struct options *options, const char *name,
            const struct sum *sum)
{
  bool escape = options->names && !options->zero_terminated &&
    strpbrk (name, "\\\n\r");
  char hex[HEX_SIZE];

  to_hex (sum, hex);
  if (escape)
    putchar ('\\');
  if (options->form == OUTPUT_TAG) {
    print_tag (options->hash);
    if (options->names) {
      fputs (" (", stdout);
      print_name (name, escape);
      fputs (")", stdout);
    }
    printf (" = %s", hex);
  }
  else {
    fputs (hex, stdout);
    if (options->names) {
      fputs ("  ", stdout);
      print_name (name, escape);
    }
  }
}

/* The length of the UTF-8 sequence at S, or 0 if it is none. */
static size_t
utf8_length (const unsigned char *s)
{
  static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
  size_t i, n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 :
    s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;
  uint32_t c;

  if (n < 2)
    return n;
  c = s[0] & (0xff >> (n + 1));
  for (i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (s[i] & 0x3f);
  }
  return c < min[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* JSON is UTF-8, names are bytes: what is not UTF-8 becomes U+FFFD. */
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
    size_t n = utf8_length ((const unsigned char *) name);

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
print_json (const struct options *options, const char *name,
            const struct sum *sum)
{
  struct json_object *json = json_object_new_object ();
  unsigned streams = blkhash_opts_get_streams (options->hash);
  char text[HEX_SIZE];

  if (options->names)
    json_object_object_add (json, "name", json_name (name));
  to_hex (sum, text);
  add_string (json, "checksum", text);
  add_string (json, "digest", blkhash_opts_get_digest_name (options->hash));
  add_number (json, "block-size",
              blkhash_opts_get_block_size (options->hash));
  add_string (json, "construction", streams ? "streams" : "flat");
  if (streams)
    add_number (json, "streams", streams);
  add_string (json, "format", sum->format);
  add_number (json, "size", sum->size);
  add_number (json, "data-bytes", sum->data);
  add_number (json, "zero-bytes", sum->zero);
  add_number (json, "hole-bytes", sum->hole);
  snprintf (text, sizeof text, "%.6f", sum->seconds);
  json_object_object_add (json, "seconds",
                          json_object_new_double_s (sum->seconds, text));
  fputs (json_object_to_json_string_ext (json,
                                         JSON_C_TO_STRING_PLAIN |
                                         JSON_C_TO_STRING_NOSLASHESCAPE),
         stdout);
  json_object_put (json);
}

int
output_sum (const struct options *options, const char *name,
            const struct sum *sum)
{
  if (options->form == OUTPUT_JSON)
    print_json (options, name, sum);
  else
    print_line (options, name, sum);
  putchar (options->zero_terminated ? '\0' : '\n');
  errno = 0;
  if (fflush (stdout) == EOF || ferror (stdout))
    return errno ? errno : EIO;
  return 0;
}

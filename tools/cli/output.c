/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/sums.h"
#include "../lib/common/text.h"
#include "blkhash.h"
#include "cli/output.h"
#include "cli/program.h"
#include "format/probe.h"
#include "util/error.h"
#include "util/first-bytes.h"
#include "util/ranges.h"

/* ---- JSON ---- */

/* An object is printed member by member, and not by json-c, which, if there is
 * no memory, prints null or omits a part of the text.  After a write error
 * the closing brace is not printed, so that a truncated object is invalid.
 */

/* Print a member, and before it a comma, unless it is the FIRST. */
static void
print_string (const char *key, const char *value, bool first)
{
  printf ("%s\"%s\":", first ? "" : ",", key);
  json_string (stdout, value);
}

static void
print_number (const char *key, uint64_t value)
{
  printf (",\"%s\":%" PRIu64, key, value);
}

/* Returns true if the next member is the first one. */
static bool
begin_json (const struct output_options *options, const char *name)
{
  putchar ('{');
  if (!options->no_names)
    print_string ("name", name, true);
  return options->no_names;
}

void
output_result (int status)
{
  static const char *const words[] = { "ok", "differs", "unknown" };

  print_string ("result", words[status], false);
  if (!ferror (stdout))
    putchar ('}');
}

void
output_range (bool first, uint64_t start, uint64_t length, const char *result,
              const char *detail)
{
  printf ("%s{\"start\":%" PRIu64, first ? "" : ",", start);
  print_number ("length", length);
  print_string ("result", result, false);
  if (detail)
    print_string ("detail", detail, false);
  putchar ('}');
}

static void
print_content (const struct content_sums *content)
{
  char hex[SUM_HEX_SIZE];

  for (unsigned i = 0; i < content->count; i++) {
    const struct content_sum *sum = &content->sums[i];

    sum_line_hex (sum->md, sum->md_len, hex);
    printf ("%s", i == 0 ? ",\"content\":{" : ",");
    print_string (sum->digest, hex, true);
  }
  if (content->count > 0)
    putchar ('}');
}

static void
print_json (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  bool first = begin_json (options, name);
  char text[SUM_TEXT_SIZE];

  sum_line_text (hash, sum->md, text);
  print_string ("sum", text, first);
  print_string ("format", sum->format, false);
  print_number ("size", sum->size);
  print_number ("data-bytes", sum->data);
  print_number ("zero-bytes", sum->zero);
  print_number ("hole-bytes", sum->hole);
  print_content (&sum->content);
  if (sum->incremental)
    print_number ("read-bytes", sum->read);
  printf (",\"seconds\":%.6f", sum->seconds);
  output_result (EXIT_SUCCESS);
}

/* ---- A sum ---- */

/* Append LINE and its END to the LEN bytes of *TEXT, and free LINE.  Returns
 * the new length.
 */
static size_t
append_line (char **text, size_t len, char *line, char end)
{
  size_t n = line ? strlen (line) : 0;
  char *longer = line ? realloc (*text, len + n + 1) : NULL;

  if (!longer)
    report_write_failed (ENOMEM);
  memcpy (longer + len, line, n);
  longer[len + n] = end;
  free (line);
  *text = longer;
  return len + n + 1;
}

/* Print the lines of an image.  They are written together, so that no reader
 * gets one of them alone.
 */
static void
print_lines (const struct output_options *options, const char *name,
             const struct blkhash_opts *hash, const struct sum *sum)
{
  const char *named = options->no_names ? NULL : name;
  char end = options->zero ? '\0' : '\n', *text = NULL;
  size_t len = append_line (&text, 0,
                            sum_line (hash, sum->md, sum->md_len, named,
                                      options->tag, !options->zero), end);

  for (unsigned i = 0; i < sum->content.count; i++) {
    const struct content_sum *content = &sum->content.sums[i];

    len = append_line (&text, len,
                       sum_line_content (content->digest, content->md,
                                         content->md_len, named,
                                         !options->zero), end);
  }
  program_write (text, len);
  free (text);
}

static void
end_line (char end)
{
  if (!ferror (stdout))
    putchar (end);
  program_flush ();
}

/* Print SUM of the source NAME, made with HASH. */
static void
output_sum (const struct output_options *options, const char *name,
            const struct blkhash_opts *hash, const struct sum *sum)
{
  if (options->form != OUTPUT_JSON) {
    print_lines (options, name, hash, sum);
    return;
  }
  errno = 0;
  print_json (options, name, hash, sum);
  end_line (options->zero ? '\0' : '\n');
}

void
output_failure (const struct output_options *options, const char *name,
                const char *failed, const struct error *error, int status)
{
  struct error about = { "" };

  report (failed, error);
  if (options->form != OUTPUT_JSON)
    return;
  if (strcmp (failed, name) != 0)
    error_about (&about, failed, "%s", error->text);
  errno = 0;
  print_string ("error", error_is_set (&about) ? about.text : error->text,
                begin_json (options, name));
  output_result (status);
  end_line ('\n');
}

int
output_outcome (const struct output_options *options,
                const struct hash_request *request, const char *name,
                const struct sum *sum, enum job_status r, const char *failed,
                const struct error *error)
{
  int status = r == JOB_DONE ? EXIT_SUCCESS
    : r == JOB_DIFFERS ? EXIT_DIFFERS : EXIT_TROUBLE;

  if (r != JOB_DONE) {
    output_failure (options, name, failed, error, status);
    return status;
  }
  if (!request->manifest || strcmp (request->manifest, "-") != 0)
    output_sum (options, name, sum->hash ? sum->hash : request->opts, sum);
  blkhash_opts_free (sum->hash);
  container_report (name, &sum->first, "sum");
  return EXIT_SUCCESS;
}

void
output_verdict (const char *name, const struct expect_result *verified,
                const struct part *part, const struct error *error, int status)
{
  errno = 0;
  putchar ('{');
  print_string ("name", name, true);
  if (verified && *verified->sum)
    print_string ("sum", verified->sum, false);
  if (verified && *verified->expected)
    print_string ("expected", verified->expected, false);
  if (part->n > 0 && (!verified || verified->compared_bytes > 0)) {
    printf (",\"part\":\"%" PRIu32 "/%" PRIu32 "\"", part->i, part->n);
    print_number ("compared-bytes", verified ? verified->compared_bytes : 0);
  }
  if (error)
    print_string ("error", error->text, false);
  output_result (status);
  end_line ('\n');
}

/* ---- Lines ---- */

/* Replace each control character with '?', as in messages. */
static void
replace_controls (char *text)
{
  char *to = text;
  size_t len;

  for (; *text; text += len ? len : 1) {
    len = control_length (text);
    *to++ = len ? '?' : *text;
  }
  *to = '\0';
}

/* The name is escaped as in a list: if it contains a newline, a carriage return
 * or a backslash, the line begins with a backslash.  Other control characters
 * are replaced with '?'.  So an untrusted name cannot forge another line, and
 * no control character reaches the terminal.
 */
void
output_line (const char *name, const char *verdict)
{
  char *escaped = sum_line_escape (name);
  const char *prefix;

  if (!escaped)
    report_write_failed (ENOMEM);
  prefix = strcmp (escaped, name) == 0 ? "" : "\\";
  replace_controls (escaped);
  errno = 0;
  printf ("%s%s: %s\n", prefix, escaped, verdict);
  program_flush ();
  free (escaped);
}

void
output_trailing (const char *name, uint64_t len)
{
  char text[64] = "any bytes after the image were not read";

  if (len == 0)
    return;
  if (len != UINT64_MAX)
    snprintf (text, sizeof text,
              "%" PRIu64 " bytes after the image were not read", len);
  output_line (name, text);
}

/* ---- Containers ---- */

/* Report that the bytes that were hashed are not those of a disk, but of
 * something that contains the image of one.
 *
 * The result stands, because the user may want it.  The line says how to get at
 * the disk.
 */

static const struct {
  const char *name;             /* see probe_container */
  const char *what;             /* the name with an article and a noun */
  const char *unpack;           /* commands */
} containers[] = {
  { "gzip", "gzip data", "gzip -dc FILE | blksum" },
  { "xz", "xz data", "xz -dc FILE | blksum" },
  { "zstd", "zstd data", "zstd -dc FILE | blksum" },
  { "bzip2", "bzip2 data", "bzip2 -dc FILE | blksum" },
  { "zip", "a zip archive", "unzip FILE, and hash the image from it" },
  { "tar", "a tar archive", "tar -xf FILE, and hash the image from it" },
  { "7z", "a 7z archive", "7z x FILE, and hash the image from it" },
  { "E01", "an E01 image", "ewfmount FILE DIR && blksum DIR/ewf1" },
  { "Android sparse", "an Android sparse image",
    "simg2img FILE RAW && blksum RAW" },
};

#define NOT_OF_DISK "; this is the %s of the file, not of the disk in it: "

/* Set ERROR if FIRST is of a container, or of an image in another format than
 * raw.
 */
static void
describe (const struct first_bytes *first, const char *result,
          struct error *error)
{
  const char *format = probe_format (first->bytes, first->len);
  const char *found = probe_container (first->bytes, first->len);
  size_t i;

  for (i = 0; found && i < sizeof containers / sizeof containers[0]; i++)
    if (strcmp (found, containers[i].name) == 0)
      error_set (error, "is %s" NOT_OF_DISK "%s", containers[i].what, result,
                 containers[i].unpack);
  if (found)
    return;
  if (format_is_unread (format))
    error_set (error, "is a %s image" NOT_OF_DISK FORMAT_CONVERT_HINT, format,
               result, format);
  /* The content of a disk can be encrypted by LUKS. */
  else if (strcmp (format, "raw") != 0 && format_is_known (format))
    error_set (error, "is a %s image" NOT_OF_DISK "give its name as a file, or "
               "export its disk by qemu-nbd -r -f %s FILE", format, result,
               format);
}

void
container_report (const char *name, const struct first_bytes *first,
                  const char *result)
{
  struct error error = { "" };

  if (first->len > 0)
    describe (first, result, &error);
  if (error_is_set (&error))
    report (name, &error);
}

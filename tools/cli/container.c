/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Report that the bytes that were hashed are not those of a disk, but of
 * something that contains the image of one.
 *
 * The result stands, because the user may want it.  The line says how to get at
 * the disk: for compressed data by a command that prints its sum, and otherwise
 * by the program that unpacks it.
 */

#include <config.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/memstream.h"
#include "cli/container.h"
#include "cli/program.h"
#include "format/format.h"
#include "format/probe.h"
#include "util/control.h"
#include "util/error.h"
#include "util/first-bytes.h"

struct container {
  const char *name;             /* see probe_container */
  const char *what;             /* the name with an article and a noun */
  const char *unpack;           /* command before the name of the file */
  const char *then;             /* text after it */
  bool to_stdout;               /* the command writes the content to standard
                                 * output, and can read standard input */
};

static const struct container containers[] = {
  { "gzip", "gzip data", "gzip -dc", " | blksum", true },
  { "xz", "xz data", "xz -dc", " | blksum", true },
  { "zstd", "zstd data", "zstd -dc", " | blksum", true },
  { "bzip2", "bzip2 data", "bzip2 -dc", " | blksum", true },
  { "zip", "a zip archive", "unzip", ", and hash the image from it", false },
  { "tar", "a tar archive", "tar -xf", ", and hash the image from it", false },
  { "7z", "a 7z archive", "7z x", ", and hash the image from it", false },
  { "E01", "an E01 image", "ewfmount", " DIR && blksum DIR/ewf1", false },
  { "Android sparse", "an Android sparse image", "simg2img",
    " RAW && blksum RAW", false },
};

static const struct container *
find (const char *name)
{
  for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++)
    if (strcmp (name, containers[i].name) == 0)
      return &containers[i];
  return NULL;
}

static bool
has_controls (const char *name)
{
  for (; *name; name++)
    if (control_length (name))
      return true;
  return false;
}

/* Print WORD, in single quotes if a shell may interpret its characters. */
static void
print_shell_word (FILE *out, const char *word)
{
  static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "%+,-./:=@_";

  if (*word && strspn (word, plain) == strlen (word)) {
    fputs (word, out);
    return;
  }
  putc ('\'', out);
  for (; *word; word++)
    if (*word == '\'')
      fputs ("'\\''", out);
    else
      putc (*word, out);
  putc ('\'', out);
}

/* Print NAME as an argument of a command, so that no program takes it for an
 * option, nor 7z for a list of files, nor tar for a file on another host.
 * Control characters would not reach the terminal, and the command would be
 * wrong: then print FILE.
 */
static void
print_argument (FILE *out, const char *name, bool is_file)
{
  if (has_controls (name)) {
    fputs (is_file ? "FILE" : "URI", out);
    return;
  }
  if (is_file && *name != '/' &&
      (*name == '-' || *name == '@' || strchr (name, ':')))
    fputs ("./", out);
  print_shell_word (out, name);
}

static void
print_unpack (FILE *out, const struct container *container, const char *name,
              enum first_bytes_from from)
{
  if (container->to_stdout && from == FIRST_BYTES_STREAM)
    fprintf (out, "pass it through %s", container->unpack);
  else if (container->to_stdout && from == FIRST_BYTES_EXPORT) {
    fputs ("nbdcopy ", out);
    print_argument (out, name, false);
    fprintf (out, " - | %s%s", container->unpack, container->then);
  }
  else if (from == FIRST_BYTES_FILE) {
    fprintf (out, "%s ", container->unpack);
    print_argument (out, name, true);
    fputs (container->then, out);
  }
  else
    fprintf (out, "copy it to a file: %s FILE%s", container->unpack,
             container->then);
}

/* Print how to read an image in FORMAT. */
static void
print_format (FILE *out, const char *format, enum first_bytes_from from)
{
  if (from == FIRST_BYTES_EXPORT)
    fprintf (out, "export the disk, as with qemu-nbd -r -f %s FILE", format);
  else if (format_is_unread (format))
    fprintf (out, FORMAT_CONVERT_HINT, format);
  else
    fputs ("copy it to a file, and give its name", out);
}

/* Returns the text of the line, which the caller frees; NULL if there is
 * nothing to report, or no memory.
 */
static char *
describe (const char *name, const struct first_bytes *first, const char *result)
{
  const char *format = probe_format (first->bytes, first->len);
  const char *found = probe_container (first->bytes, first->len);
  char *text = NULL;
  size_t size;
  FILE *out;

  /* The content of a disk can be encrypted by LUKS. */
  if (!found && (strcmp (format, "raw") == 0 ||
                 (!format_is_known (format) && !format_is_unread (format))))
    return NULL;
  out = open_memstream (&text, &size);
  if (!out)
    return NULL;
  if (found)
    fprintf (out, "is %s", find (found)->what);
  else
    fprintf (out, "is a %s image", format);
  fprintf (out, "; this is the %s of the file, not of the disk in it: ",
           result);
  if (found)
    print_unpack (out, find (found), name, first->from);
  else
    print_format (out, format, first->from);
  return memstream_close (out, &text);
}

void
container_report (const char *name, const struct first_bytes *first,
                  const char *result)
{
  struct error error = { "" };
  char *text = first->len > 0 ? describe (name, first, result) : NULL;

  if (!text)
    return;
  error_set (&error, "%s", text);
  report (name, &error);
  free (text);
}

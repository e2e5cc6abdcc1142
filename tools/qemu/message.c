/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Convert the messages of a program of qemu that failed to an error for the
 * user.
 *
 * The option or descriptor that names the image is replaced by the name that
 * the user knows.  So, with the image FILE,
 *
 *   qemu-nbd: Failed to blk_new_open 'driver=qcow,file.filename=FILE': WHY
 *
 * becomes "Failed to blk_new_open 'FILE': WHY".  If FILE is the operand, which
 * is printed before each error anyway, only "WHY" is left.
 *
 * Messages that this process caused when it disconnected are removed.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/text.h"
#include "qemu/message.h"
#include "util/error.h"

#define DISCONNECT "Disconnect client, due to: "

/* Returns the rest of TEXT after PREFIX, or NULL. */
static const char *
skip_prefix (const char *text, const char *prefix)
{
  size_t len = strlen (prefix);

  return strncmp (text, prefix, len) == 0 ? text + len : NULL;
}

static bool
ends_with (const char *text, size_t len, const char *end)
{
  size_t n = strlen (end);

  return len >= n && memcmp (text + len - n, end, n) == 0;
}

/* Skip "qemu-nbd: " or "qemu-img: ". */
static const char *
skip_program (const char *line)
{
  static const char *const programs[] = { "qemu-nbd: ", "qemu-img: " };
  const char *rest;

  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
    if ((rest = skip_prefix (line, programs[i])))
      return rest;
  return line;
}

/* Skip "Failed to blk_new_open 'NAME': " and "Could not open 'NAME': ". */
static const char *
skip_name (const char *line, const char *name)
{
  static const char *const opens[] = {
    "Failed to blk_new_open '", "Could not open '"
  };
  const char *rest;

  /* An error is often wrapped in another one. */
  for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++)
    if ((rest = skip_prefix (line, opens[i])) &&
        (rest = skip_prefix (rest, name)) &&
        (rest = skip_prefix (rest, "': ")))
      line = rest;
  return line;
}

/* Returns true if the LEN bytes of LINE only report that this process
 * disconnected before a reply was sent.
 */
static bool
is_disconnect (const char *line, size_t len)
{
  return ends_with (line, len, "Unable to write to socket: Broken pipe") ||
    (skip_prefix (line, DISCONNECT) &&
     (ends_with (line, len, ": Broken pipe") ||
      ends_with (line, len, ": Connection reset by peer")));
}

/* Replace TARGET by NAME in TEXT, and free TEXT.  Returns the new text, or NULL
 * if there is no memory.
 */
static char *
replace (char *text, const char *target, const char *name)
{
  const char *rest = text;
  const char *found;
  char *replaced = NULL;
  size_t size;
  FILE *out = open_memstream (&replaced, &size);

  if (out) {
    while (*target && (found = strstr (rest, target))) {
      fprintf (out, "%.*s%s", (int) (found - rest), rest, name);
      rest = found + strlen (target);
    }
    fputs (rest, out);
    memstream_close (out, &replaced);
  }
  free (text);
  return replaced;
}

/* Print the lines of TEXT without the name of the program, and without NAME if
 * it is the operand.  Empty lines, and those about the disconnect, are removed.
 */
static void
print_lines (FILE *out, const char *text, const char *name, bool is_operand)
{
  bool disconnected = false;

  while (*text) {
    const char *end = text + strcspn (text, "\n");
    const char *line = skip_program (text);

    if (is_operand)
      line = skip_name (line, name);
    /* A connection ends only once, so a second message about its end is removed
     * whatever the cause.
     */
    if (line < end && !is_disconnect (line, end - line) &&
        !(disconnected && skip_prefix (line, DISCONNECT))) {
      disconnected |= skip_prefix (line, DISCONNECT) != NULL;
      fprintf (out, "%.*s\n", (int) (end - line), line);
    }
    text = *end ? end + 1 : end;
  }
}

static char *
filter_lines (const char *text, const char *name, bool is_operand)
{
  char *lines = NULL;
  size_t size;
  FILE *out = open_memstream (&lines, &size);

  if (!out)
    return NULL;
  print_lines (out, text, name, is_operand);
  return memstream_close (out, &lines);
}

void
qemu_message_refine_error (struct error *error, const char *messages,
                           const char *const *targets, const char *name,
                           bool is_operand)
{
  struct error printable = { "" }; /* NAME without newlines */
  char *text = strdup (messages), *lines = NULL;

  error_set (&printable, "%s", name);
  for (; text && *targets; targets++)
    text = replace (text, *targets, printable.text);
  if (text && strcmp (name, printable.text) != 0)
    text = replace (text, name, printable.text);
  if (text)
    lines = filter_lines (text, printable.text, is_operand);
  if (lines && *lines) {
    *error = (struct error) { "" };
    error_set_lines (error, lines);
  }
  free (lines);
  free (text);
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write JSON.
 *
 * Names in messages are JSON strings, too.  So all characters that control a
 * terminal are escaped, even those that JSON allows.
 */

#include <config.h>

#include "common/json-string.h"
#include "common/utf8.h"

/* Returns the code point of the control character at TEXT, or -1. */
static int
control_character (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;

  if (s[0] < 0x20 || s[0] == 0x7f)
    return s[0];
  return s[0] == 0xc2 && s[1] < 0xa0 ? s[1] : -1; /* U+0080 to U+009F */
}

static void
write_character (FILE *out, const char *text, size_t len)
{
  int control = control_character (text);

  if (len == 0)
    fputs ("\xef\xbf\xbd", out); /* U+FFFD */
  else if (*text == '"' || *text == '\\')
    fprintf (out, "\\%c", *text);
  else if (control != -1)
    fprintf (out, "\\u%04x", control);
  else
    fwrite (text, 1, len, out);
}

void
json_string (FILE *out, const char *text)
{
  putc ('"', out);
  while (*text) {
    size_t len = utf8_length (text);

    write_character (out, text, len);
    text += len ? len : 1;
  }
  putc ('"', out);
}

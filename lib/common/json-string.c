/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a string of JSON.
 *
 * All characters that control a terminal are escaped, even those that JSON
 * allows unescaped, because these strings are also printed on terminals.
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

static bool
write_character (FILE *out, const char *text, size_t len)
{
  int control = control_character (text);

  if (len == 0)
    return fputs ("\xef\xbf\xbd", out) != EOF; /* invalid: U+FFFD */
  if (*text == '"' || *text == '\\')
    return fprintf (out, "\\%c", *text) > 0;
  if (control != -1)
    return fprintf (out, "\\u%04x", control) > 0;
  return fwrite (text, 1, len, out) == len;
}

bool
json_string (FILE *out, const char *text)
{
  bool r = putc ('"', out) != EOF;

  while (r && *text) {
    size_t len = utf8_length (text);

    r = write_character (out, text, len);
    text += len ? len : 1;
  }
  return r && putc ('"', out) != EOF;
}

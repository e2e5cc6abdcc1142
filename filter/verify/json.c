/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write JSON.
 */

#include <config.h>

#include "../lib/common/utf8.h"
#include "verify/json.h"

static void
write_character (FILE *out, const char *text, size_t len)
{
  unsigned char c = *text;

  if (len == 0)
    fputs ("\xef\xbf\xbd", out); /* U+FFFD */
  else if (c == '"' || c == '\\')
    fprintf (out, "\\%c", c);
  else if (c < 0x20)
    fprintf (out, "\\u%04x", c);
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

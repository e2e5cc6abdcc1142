/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include <config.h>

#include "common/text.h"

const char *
number_parse (const char *text, uint64_t *number)
{
  const char *p = text;

  for (*number = 0; *p >= '0' && *p <= '9'; p++) {
    unsigned digit = *p - '0';

    if (*number > (UINT64_MAX - digit) / 10)
      return NULL;
    *number = 10 * *number + digit;
  }
  return p > text ? p : NULL;
}

enum line_end
line_read (FILE *in, char *text, size_t size, size_t *len)
{
  size_t n = 0;
  int c;

  while ((c = getc_unlocked (in)) != EOF && c != '\n' && c != '\0' &&
         n < size - 1)
    text[n++] = c;
  text[n] = '\0';
  *len = n;
  if (c == EOF || c == '\n' || c == '\0')
    return c == EOF ? LINE_FILE_END : c == '\n' ? LINE_NEWLINE : LINE_NUL;
  ungetc (c, in);
  return LINE_LONG;
}

size_t
utf8_length (const char *text)
{
  static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
  const unsigned char *s = (const unsigned char *) text;
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

/* ---- Strings of JSON ---- */

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

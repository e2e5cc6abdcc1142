/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line of a list of checksums.
 *
 * What is not a checksum is of two kinds.  Text is passed over, with a warning,
 * so that a list can be inside of other text, such as a signed mail.  What
 * looks like a checksum, but has a character too few, or one that does not
 * belong there, is damaged, and that is an error: else all would be well with
 * an image that nobody looked at.  sha256sum passes over both.
 */

#include <config.h>

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sums/line.h"

static const char hex_digits[] = "0123456789abcdefABCDEF";
static const char blanks[] = " \t";

#define BOM "\xef\xbb\xbf"      /* U+FEFF in UTF-8 */

/* The shortest sum of a digest, xxh64, has so many digits. */
#define MIN_DIGITS 16

static void
set_damaged (struct sums_line *line, const char *why)
{
  *line = (struct sums_line) { .type = SUMS_DAMAGED, .why = why };
}

/* Replace \\, \n and \r.  False if a backslash is before anything else. */
static bool
unescape (char *name)
{
  char *to = name;

  for (; *name; name++) {
    char c = *name;

    if (c == '\\') {
      c = *++name;
      if (c != '\\' && c != 'n' && c != 'r')
        return false;
      c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
    *to++ = c;
  }
  *to = '\0';
  return true;
}

/* ---- What is no checksum ---- */

/* One character can be wrong anywhere in it. */
static bool
looks_like_sum (const char *text)
{
  size_t i, n, digits = 0;

  if (strncmp (text, "blk-", 4) == 0)
    return true;
  for (i = 0; i < MIN_DIGITS && text[i]; i++)
    digits += isxdigit ((unsigned char) text[i]) != 0;
  if (digits >= MIN_DIGITS - 1)
    return true;
  for (; *text; text += n + (text[n] != '\0')) {
    n = strspn (text, hex_digits);
    if (n >= MIN_DIGITS)
      return true;
  }
  return false;
}

/* "SHA256 (NAME) = HEX", as other programs write it.  Ours have a slash, so
 * that one damaged character does not make one of these of it.
 */
static bool
is_foreign (const char *text)
{
  size_t n = 0;
  const char *end = strrchr (text, ')');

  if (!isupper ((unsigned char) text[0]))
    return false;
  while (isalnum ((unsigned char) text[n]) || text[n] == '-')
    n++;
  n += text[n] == ' ';
  return text[n] == '(' && end && strspn (end + 1, " =") > 0;
}

static void
parse_other (const char *text, const char *why, struct sums_line *line)
{
  if (looks_like_sum (text) && !is_foreign (text))
    set_damaged (line, why);
  else
    line->type = SUMS_OTHER;
}

/* "# incomplete NAME: WHY" of the filter, where the name is escaped, but
 * nothing at the beginning says so.
 */
static void
parse_comment (char *text, struct sums_line *line)
{
  static const char incomplete[] = "# incomplete ";
  char *end;
  size_t digits = strspn (text + 1, hex_digits);

  /* One wrong bit makes a "#" of the digits "3" and "c". */
  if (digits >= MIN_DIGITS - 1 && digits % 2 == 1 && text[1 + digits] == ' ') {
    set_damaged (line, "its first character is not a digit");
    return;
  }
  line->type = SUMS_NOTHING;
  if (strncmp (text, incomplete, strlen (incomplete)) != 0)
    return;
  text += strlen (incomplete);
  end = strstr (text, ": ");
  line->type = SUMS_INCOMPLETE;
  line->name = text;
  line->why = end ? end + 2 : "";
  if (end)
    *end = '\0';
  unescape (text);
}

/* ---- Checksums ---- */

/* A checksum whose NAME may still be escaped. */
static void
set_sum (struct sums_line *line, const char *spec, const char *hex, char *name,
         bool escaped)
{
  if (*name == '\0')
    set_damaged (line, "it has no name");
  else if (escaped && !unescape (name))
    set_damaged (line, "its name has a backslash that is not followed by a "
                 "backslash, n or r");
  else
    *line = (struct sums_line) {
      .type = SUMS_SUM, .spec = spec, .hex = hex, .name = name
    };
}

/* TEXT is behind "blk-".  A name may hold anything, also ") = ". */
static void
parse_tagged (char *text, bool escaped, struct sums_line *line)
{
  char *name = strstr (text, " ("), *end = strrchr (text, ')');

  if (!name && strstr (text, " = "))
    set_damaged (line, "it has no name");
  else if (!name || !end || end < name + 2 ||
           strncmp (end, ") = ", 4) != 0 || end[4] == '\0' ||
           end[4 + strspn (end + 4, hex_digits)] != '\0')
    set_damaged (line, "it is not 'blk-DIGEST/SIZE (NAME) = CHECKSUM'");
  else {
    *name = *end = '\0';
    set_sum (line, text, end + 4, name + 2, escaped);
  }
}

/* TEXT begins with digits. */
static void
parse_plain (char *text, bool escaped, struct sums_line *line)
{
  size_t digits = strspn (text, hex_digits);

  if (text[digits] == '\0')
    parse_other (text, "it has no name", line);
  else if (text[digits] != ' ' ||
           (text[digits + 1] != ' ' && text[digits + 1] != '*'))
    parse_other (text, "it is not 'CHECKSUM  NAME'", line);
  else if (digits < MIN_DIGITS)
    parse_other (text, "its checksum is too short", line);
  else {
    text[digits] = '\0';
    set_sum (line, NULL, text, text + digits + 2, escaped);
  }
}

static void
parse (char *text, size_t len, struct sums_line *line)
{
  bool escaped;

  *line = (struct sums_line) { .type = SUMS_NOTHING };
  if (len > 0 && text[len - 1] == '\r')
    text[len - 1] = '\0';
  if (*text == '\0')
    return;
  if (*text == '#') {
    parse_comment (text, line);
    return;
  }
  text += strspn (text, blanks);
  escaped = *text == '\\';
  text += escaped;
  if (strncmp (text, "blk-", 4) == 0)
    parse_tagged (text + 4, escaped, line);
  else if (strspn (text, hex_digits) > 0)
    parse_plain (text, escaped, line);
  else
    parse_other (text, "it is not 'CHECKSUM  NAME'", line);
}

/* Some editors put a byte order mark in front of the first line; behind lists
 * that were put together it is elsewhere.  What would be a checksum behind it is
 * none.
 */
void
sums_line_parse (char *text, size_t len, struct sums_line *line)
{
  size_t bom = 0;

  while (strncmp (text + bom, BOM, strlen (BOM)) == 0)
    bom += strlen (BOM);
  parse (text + bom, len - bom, line);
  if (bom > 0 && line->type != SUMS_NOTHING && line->type != SUMS_OTHER)
    set_damaged (line, "it begins with a UTF-8 byte order mark");
}

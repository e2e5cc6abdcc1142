/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "common/sum-line.h"

char *
sum_line_escape (const char *name)
{
  char *escaped = malloc (2 * strlen (name) + 1), *p = escaped;

  if (!escaped)
    return NULL;
  for (; *name; name++) {
    char c = *name == '\n' ? 'n' : *name == '\r' ? 'r' : *name;

    if (c != *name || c == '\\')
      *p++ = '\\';
    *p++ = c;
  }
  *p = '\0';
  return escaped;
}

void
sum_line_hex (const unsigned char *md, size_t md_len, char *hex)
{
  size_t i;

  hex[0] = '\0';
  for (i = 0; i < md_len; i++)
    sprintf (hex + 2 * i, "%02x", md[i]);
}

void
sum_line_text (const struct blkhash_opts *opts, const unsigned char *md,
               char text[SUM_TEXT_SIZE])
{
  size_t len;

  blkhash_opts_get_tag (opts, text, BLKHASH_MAX_TAG_SIZE);
  len = strlen (text);
  text[len] = ':';
  sum_line_hex (md, blkhash_opts_get_digest_size (opts), text + len + 1);
}

/* TAG is NULL for a line without a tag; NAME is NULL for a line without a name.
 * Returns NULL if there is no memory.  open_memstream is not used, because its
 * stream loses a part of the text without an error if there is no memory.
 */
static char *
format (const char *tag, const char *hex, const char *name, bool escaped)
{
  const char *start = escaped ? "\\" : "";
  char *line;
  int r;

  if (!tag)
    r = asprintf (&line, "%s%s%s%s", start, hex, name ? "  " : "",
                  name ? name : "");
  else if (name)
    r = asprintf (&line, "%s%s (%s) = %s", start, tag, name, hex);
  else
    r = asprintf (&line, "%s = %s", tag, hex);
  return r == -1 ? NULL : line;
}

char *
sum_line (const struct blkhash_opts *opts,
          const unsigned char *md, size_t md_len,
          const char *name, bool tag, bool escape)
{
  char hex[SUM_HEX_SIZE];
  char *escaped = escape && name ? sum_line_escape (name) : NULL;
  char text[BLKHASH_MAX_TAG_SIZE];
  char *line = NULL;

  sum_line_hex (md, md_len, hex);
  if ((escaped || !escape || !name) &&
      (!tag || blkhash_opts_get_tag (opts, text, sizeof text) == 0))
    line = format (tag ? text : NULL, hex, escaped ? escaped : name,
                   escaped && strcmp (escaped, name) != 0);
  free (escaped);
  return line;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A parser for the JSON of lists of ranges: see json-scan.h.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes/json-scan.h"
#include "util/error.h"

int
json_scan_error (struct json_scan *scan, const char *fmt, ...)
{
  char where[40] = "", text[512];
  va_list args;

  if (scan->item > 0)
    snprintf (where, sizeof where, "range %" PRIu64 " ", scan->item);
  va_start (args, fmt);
  vsnprintf (text, sizeof text, fmt, args);
  va_end (args);
  return error_about (scan->error, scan->name, "%s%s", where, text);
}

/* Returns the next character that is not white space of JSON, or EOF. */
static int
next (struct json_scan *scan)
{
  int c;

  do
    c = getc_unlocked (scan->in);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
  return c;
}

/* Set the error for C, a character or EOF that is not allowed here.  Called
 * right after C was read, because then errno has the reason of a read error.
 */
static int
unexpected_char (struct json_scan *scan, int c)
{
  int errnum = errno;

  if (c != EOF)
    return json_scan_error (scan, isgraph (c) ? "has an unexpected '%c'"
                            : "has an unexpected byte %d", c);
  if (ferror (scan->in))
    return error_about (scan->error, scan->name, "cannot read: %s",
                        strerror (errnum));
  return json_scan_error (scan, "is truncated: the list has no end");
}

int
json_scan_begin (struct json_scan *scan)
{
  int c = next (scan);

  if (c == '[' || c == '{')
    return c;
  if (c == EOF && !ferror (scan->in))
    return json_scan_error (scan, "it is empty");
  if (c == EOF)
    return unexpected_char (scan, c);
  return json_scan_error (scan, "it is not a list of ranges in JSON; "
                          "'blkhash compare --output=json' and 'nbdinfo --map "
                          "--json' print one");
}

int
json_scan_end (struct json_scan *scan)
{
  int c = next (scan);

  if (c == EOF && !ferror (scan->in))
    return 0;
  return c == EOF ? unexpected_char (scan, c)
    : json_scan_error (scan, "there is trailing data after the list of ranges");
}

int
json_scan_array (struct json_scan *scan)
{
  int c = next (scan);

  return c == '[' ? 0 : unexpected_char (scan, c);
}

int
json_scan_object (struct json_scan *scan)
{
  int c = next (scan);

  if (c == ']') {
    scan->item = 0;
    scan->member = 1;           /* the array was a member */
    return 0;
  }
  if (scan->item > 0 && c == ',')
    c = next (scan);
  else if (scan->item > 0)
    return unexpected_char (scan, c);
  scan->item++;
  scan->member = 0;
  return c == '{' ? 1 : unexpected_char (scan, c);
}

/* Read a string after its first '"'. */
static int
parse_string (struct json_scan *scan, char text[JSON_SCAN_STRING])
{
  size_t len = 0;
  int c;

  while ((c = getc_unlocked (scan->in)) != '"') {
    if (c == EOF || c < ' ' || c >= 127 || c == '\\')
      return unexpected_char (scan, c);
    if (len == JSON_SCAN_STRING - 1)
      return json_scan_error (scan, "has a string that is too long: '%.*s...'",
                              (int) len, text);
    text[len++] = c;
  }
  text[len] = '\0';
  return 0;
}

int
json_scan_key (struct json_scan *scan, char key[JSON_SCAN_STRING])
{
  int c = next (scan);

  if (c == '}')
    return 0;
  if (scan->member > 0) {
    if (c != ',')
      return unexpected_char (scan, c);
    c = next (scan);
  }
  scan->member++;
  if (c != '"')
    return unexpected_char (scan, c);
  if (parse_string (scan, key) == -1)
    return -1;
  c = next (scan);
  return c == ':' ? 1 : unexpected_char (scan, c);
}

/* Parse an integer from 0 to 2^64 - 1 without a sign, leading zeros, a fraction
 * or an exponent.  Returns -1 if TEXT is anything else.
 */
static int
parse_number (const char *text, uint64_t *number)
{
  unsigned long long value;
  char *rest;

  errno = 0;
  value = strtoull (text, &rest, 10);
  if (!isdigit ((unsigned char) *text) || *rest || errno != 0 ||
      value > UINT64_MAX || (*text == '0' && text[1]))
    return -1;
  *number = value;
  return 0;
}

int
json_scan_number (struct json_scan *scan, uint64_t *number)
{
  char text[JSON_SCAN_STRING];
  size_t len = 0;
  int c = next (scan);

  while (c != EOF && c != '\0' && strchr ("+-.0123456789eE", c) &&
         len < sizeof text - 1) {
    text[len++] = c;
    c = getc_unlocked (scan->in);
  }
  text[len] = '\0';
  if (len == 0 || (c == EOF && ferror (scan->in)))
    return unexpected_char (scan, c);
  if (parse_number (text, number) == -1)
    return json_scan_error (scan,
                            "has '%s' instead of an integer from 0 to 2^64 - "
                            "1", text);
  return c == EOF || ungetc (c, scan->in) == EOF ? unexpected_char (scan, c)
                                                 : 0;
}

int
json_scan_string (struct json_scan *scan, char text[JSON_SCAN_STRING])
{
  int c = next (scan);

  return c == '"' ? parse_string (scan, text) : unexpected_char (scan, c);
}

int
json_scan_skip_string (struct json_scan *scan)
{
  int c = next (scan);

  if (c != '"')
    return unexpected_char (scan, c);
  while ((c = getc_unlocked (scan->in)) != '"') {
    if (c == '\\')
      c = getc_unlocked (scan->in);
    if (c == EOF || c < ' ')
      return unexpected_char (scan, c);
  }
  return 0;
}

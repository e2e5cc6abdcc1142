/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Option strings of qemu: KEY=VALUE,KEY=VALUE with commas in values doubled.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/qemuopts.h"

static const char *
protocol (bool is_block_device)
{
  return is_block_device ? "host_device" : "file";
}

/* Copy TEXT with its commas doubled. */
static char *
escape (const char *text)
{
  char *copy = malloc (2 * strlen (text) + 1), *p = copy;

  if (!copy)
    return NULL;
  for (; *text; text++) {
    if (*text == ',')
      *p++ = ',';
    *p++ = *text;
  }
  *p = '\0';
  return copy;
}

char *
qemuopts_string (const char *format, const char *path,
                 bool is_block_device, bool force_share)
{
  char *driver = escape (format), *filename = escape (path), *opts = NULL;

  if (driver && filename &&
      asprintf (&opts, "driver=%s,read-only=on%s,file.driver=%s,"
                "file.filename=%s", driver,
                force_share ? ",force-share=on" : "",
                protocol (is_block_device), filename) == -1)
    opts = NULL;
  free (driver);
  free (filename);
  return opts;
}

/* Copy TEXT as what is between the quotes of a JSON string. */
static char *
escape_json (const char *text)
{
  char *copy = malloc (6 * strlen (text) + 1), *p = copy;

  if (!copy)
    return NULL;
  for (; *text; text++) {
    if (*text == '"' || *text == '\\' || (unsigned char) *text < ' ')
      p += sprintf (p, "\\u%04x", *text);
    else
      *p++ = *text;
  }
  *p = '\0';
  return copy;
}

char *
qemuopts_json (const char *format, const char *path,
               bool is_block_device, bool force_share)
{
  char *filename = escape_json (path), *json = NULL;

  if (filename &&
      asprintf (&json, "json:{\"driver\": \"%s\", \"read-only\": true, "
                "\"force-share\": %s, \"backing\": null, \"file\": "
                "{\"driver\": \"%s\", \"filename\": \"%s\"}}",
                format, force_share ? "true" : "false",
                protocol (is_block_device), filename) == -1)
    json = NULL;
  free (filename);
  return json;
}

/* Where the value that starts at VALUE ends. */
static const char *
value_end (const char *value)
{
  while (*value && (*value != ',' || value[1] == ','))
    value += *value == ',' ? 2 : 1;
  return value;
}

static char *
unescape (const char *value, const char *end)
{
  char *copy = malloc (end - value + 1), *p = copy;

  if (!copy)
    return NULL;
  while (value < end) {
    *p++ = *value;
    value += *value == ',' ? 2 : 1;
  }
  *p = '\0';
  return copy;
}

/* Find KEY, or a key that starts with KEY and a dot if PREFIX is true.  The
 * last one counts, as in qemu.
 */
static const char *
find (const char *opts, const char *key, bool prefix)
{
  size_t len = strlen (key);
  const char *found = NULL;

  while (*opts) {
    const char *value = opts + strcspn (opts, "=,");

    if (strncmp (opts, key, len) == 0 &&
        (opts + len == value || (prefix && opts[len] == '.')))
      found = value;
    opts = *value == '=' ? value_end (value + 1) : value;
    opts += *opts == ',';
  }
  return found;
}

char *
qemuopts_get (const char *opts, const char *key)
{
  const char *value = find (opts, key, false);

  if (!value || *value != '=')
    return NULL;
  return unescape (value + 1, value_end (value + 1));
}

bool
qemuopts_has (const char *opts, const char *key)
{
  return find (opts, key, true) != NULL;
}

char *
qemuopts_child (const char *opts, const char *prefix)
{
  size_t len = strlen (prefix);
  char *child = malloc (strlen (opts) + 2), *p = child;

  if (!child)
    return NULL;
  while (*opts) {
    const char *value = opts + strcspn (opts, "=,");
    const char *end = *value == '=' ? value_end (value + 1) : value;

    if (strncmp (opts, prefix, len) == 0) {
      p = mempcpy (p, opts + len, end - opts - len);
      *p++ = ',';
    }
    opts = end + (*end == ',');
  }
  if (p > child)
    p--;                        /* the last comma */
  *p = '\0';
  return child;
}

char *
qemuopts_force_share (const char *opts)
{
  char *shared;

  /* In front: what is behind "KEY=VALUE," may become a part of the value. */
  return asprintf (&shared, "force-share=on,%s", opts) == -1 ? NULL : shared;
}

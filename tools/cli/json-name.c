/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names in JSON.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "../lib/common/utf8.h"
#include "cli/json-name.h"

struct json_object *
json_name (const char *name)
{
  static const char replacement[] = "\xef\xbf\xbd";
  struct json_object *json = NULL;
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream (&text, &size);

  if (!out)
    return NULL;
  while (*name) {
    size_t n = utf8_length (name);

    if (n > 0)
      fwrite (name, 1, n, out);
    else
      fputs (replacement, out), n = 1;
    name += n;
  }
  if (fclose (out) == 0)
    json = json_object_new_string_len (text, size);
  free (text);
  return json;
}

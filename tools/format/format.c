/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/common/text.h"
#include "format/format.h"
#include "qemu/process.h"
#include "util/error.h"

static const char *const formats[] = {
  "raw", "qcow2", "vdi", "vhdx", "vmdk", "vpc", NULL
};

/* Formats of qemu that are detected, so that they are not hashed as raw, but
 * not read.  LUKS is another one: see image.c.
 */
static const char *const unread[] = {
  "bochs", "cloop", "dmg", "parallels", "qcow", "qed", NULL
};

/* Aliases of the formats: the usual file name extensions. */
static const struct {
  const char *alias, *name;
} aliases[] = {
  { "img", "raw" },
  { "iso", "raw" },
  { "vhd", "vpc" },
};

static bool
is_one_of (const char *name, const char *const names[])
{
  for (; *names; names++)
    if (strcmp (name, *names) == 0)
      return true;
  return false;
}

bool
format_is_known (const char *name)
{
  return is_one_of (name, formats);
}

bool
format_is_unread (const char *name)
{
  return is_one_of (name, unread);
}

const char *
format_by_alias (const char *name)
{
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcasecmp (name, aliases[i].alias) == 0)
      return aliases[i].name;
  return NULL;
}

/* Returns the part of the output of "qemu-img --help" that starts with the list
 * of drivers, " a b c\n..."; or NULL if qemu-img failed or prints no list.  The
 * result points into *OUTPUT, which the caller frees even if this is NULL.
 */
static char *
qemu_drivers (char **output)
{
  static const char title[] = "Supported formats:";
  char *argv[] = { "qemu-img", "--help", NULL };
  struct error ignored = { "" };
  char *messages = NULL, *list;

  *output = NULL;
  if (process_run (argv, output, &messages, &ignored) == -1) {
    free (messages);
    return NULL;
  }
  list = strstr (*output, title);
  return list ? list + strlen (title) : NULL;
}

static bool
has_word (const char *list, const char *word)
{
  size_t len = strlen (word);

  for (;;) {
    list += strspn (list, " \n");
    if (!*list)
      return false;
    if (strcspn (list, " \n") == len && memcmp (list, word, len) == 0)
      return true;
    list += strcspn (list, " \n");
  }
}

char *
format_list (void)
{
  char *output, *drivers = qemu_drivers (&output), *names = NULL;
  size_t size;
  FILE *out = open_memstream (&names, &size);

  if (out) {
    fputs (formats[0], out);
    for (size_t i = 1; formats[i]; i++)
      if (!drivers || has_word (drivers, formats[i]))
        fprintf (out, ", %s", formats[i]);
    memstream_close (out, &names);
  }
  free (output);
  return names;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/memstream.h"
#include "cli/usage.h"
#include "util/error.h"

void
usage_error (const char *fmt, ...)
{
  va_list args;
  char *text;
  struct error line = { "" };

  va_start (args, fmt);
  if (vasprintf (&text, fmt, args) == -1)
    text = NULL;
  va_end (args);
  error_set (&line, "%s", text ? text : "invalid usage");
  free (text);
  fprintf (stderr, "blksum: %s; try 'blksum --help'\n", line.text);
  exit (EXIT_TROUBLE);
}

/* Report that NAME, an abbreviated option, is the prefix of several options. */
static void ambiguous_option (const struct option *options, const char *name,
                              int len) __attribute__ ((noreturn));

static void
ambiguous_option (const struct option *options, const char *name, int len)
{
  char *list = NULL;
  size_t size;
  FILE *out = open_memstream (&list, &size);

  for (; out && options->name; options++)
    if (strncmp (options->name, name, len) == 0)
      fprintf (out, " '--%s'", options->name);
  if (out)
    memstream_close (out, &list);
  usage_error ("option '--%.*s' is ambiguous; possibilities:%s", len, name,
               list ? list : "");
}

void
usage_unknown_option (const struct option *options, const char *arg)
{
  size_t i, alike = 0;
  const char *name;
  int len;

  for (i = 0; options[i].name; i++)
    if (optopt != 0 && optopt == options[i].val)
      usage_error ("option '--%s' takes no argument", options[i].name);
  if (optopt != 0)
    usage_error ("invalid option '-%c'", optopt);

  name = strndup (arg + 2, strcspn (arg + 2, "="));
  if (!name)
    usage_error ("unrecognized option '%s'", arg);
  len = strlen (name);
  for (i = 0; options[i].name; i++)
    alike += strncmp (options[i].name, name, len) == 0;
  if (alike > 1)
    ambiguous_option (options, name, len);
  if (strcmp (name, "streams") == 0 || strcmp (name, "linear") == 0)
    usage_error ("unrecognized option '--%s': instead write -d sha256/64k/%s",
                 name, *name == 's' ? "sN" : name);
  usage_error ("unrecognized option '--%s'", name);
}

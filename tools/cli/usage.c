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
#include "cli/program.h"
#include "cli/usage.h"
#include "util/error.h"

const char *usage_command;

/* Print the error in one line: error_set replaces its newlines. */
static void
print (const char *fmt, va_list args)
{
  char *text;
  struct error line = { "" };

  if (vasprintf (&text, fmt, args) == -1)
    text = NULL;
  error_set (&line, "%s", text ? text : "invalid usage");
  free (text);
  fprintf (stderr, "%s: %s", program_name, line.text);
}

void
usage_error (const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  print (fmt, args);
  va_end (args);
  fprintf (stderr, "; try '%s%s%s --help'\n", program_name,
           usage_command ? " " : "", usage_command ? usage_command : "");
  exit (EXIT_TROUBLE);
}

void
usage_invalid (const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  print (fmt, args);
  va_end (args);
  fputc ('\n', stderr);
  exit (EXIT_TROUBLE);
}

void
usage_failed (const char *what)
{
  fprintf (stderr, "%s: ", program_name);
  perror (what);
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

/* What options of earlier versions have become. */
static const struct {
  const char *name, *now;
} retired[] = {
  { "assume-unchanged", "blkhash parts --state NAME" },
  { "audit", "blkhash update --audit" },
  { "bitmap", "blkhash update --bitmap NAME --manifest NEW OLD URI" },
  { "changed", "blkhash update --changed RANGES --manifest NEW OLD IMAGE" },
  { "compare", "blkhash compare A B" },
  { "dry-run", "blkhash repair --dry-run" },
  { "expect-sum", "blkhash repair --sum SUM" },
  { "image-opts", "qemu-nbd --image-opts, and blksum URI" },
  { "linear", "-d sha256/64k/linear" },
  { "manifest-dir", "blkhash parts --part I/N IMAGE DIR" },
  { "merge", "blkhash merge PART..." },
  { "object", "qemu-nbd --object, and blksum URI" },
  { "repair-from", "blkhash repair --from SRC" },
  { "repair-limit", "blkhash repair --limit N%" },
  { "resume", "blkhash parts IMAGE DIR" },
  { "streams", "-d sha256/64k/sN" },
  { "subset", "--part I/N" },
  { "update", "blkhash update --changed RANGES --manifest NEW OLD IMAGE" },
};

static void
check_retired (const char *name)
{
  for (size_t i = 0; i < sizeof retired / sizeof retired[0]; i++)
    if (strcmp (retired[i].name, name) == 0)
      usage_invalid ("--%s is now: %s", name, retired[i].now);
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
  check_retired (name);
  usage_error ("unrecognized option '--%s'", name);
}

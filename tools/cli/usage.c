/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is printed of the command line: the help, and what is wrong with it.
 */

#include <config.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/usage.h"
#include "util/error.h"
#include "util/nearest.h"

#define MAX_OPTIONS 100

static const char usage_text[] =
"Usage: blksum [OPTION]... [FILE|URI|-]...\n"
"Print the checksum of disk images: the same for raw, qcow2, and an NBD\n"
"export of one disk, and nearly free for its empty parts.\n"
"\n"
"With no operand, or when it is -, read standard input.\n"
"\n"
"  -d, --digest NAME      sha256 (default), or see --list-digests\n"
"  -l, --list-digests     list the digests and exit\n"
"  -b, --block-size N     size of a block, default 64k; changes the sum\n"
"      --streams N        the construction of blkhash 0.9 (64) and older\n"
"  -t, --threads N        threads that hash, default: online CPUs\n"
"  -p, --progress[=FD]    show progress, or print lines N/100 to FD\n"
"  -c, --cache            use the page cache, and leave in it what was read\n"
"      --no-extents       read everything, do not ask what is sparse\n"
"\n"
"  -f, --format FMT       raw, qcow2, or any format of qemu; default: probe\n"
"      --image-opts       operands are image options of qemu\n"
"      --object DEF       define an object of qemu, such as a secret\n"
"  -U, --force-share      read an image that is in use\n"
"\n"
"      --queue-size N     bytes of NBD reads in flight, default 2m\n"
"      --queue-depth N    number of NBD reads in flight, default 16\n"
"      --read-size N      size of an NBD read, default 1m\n"
"\n"
"      --tag              print how the sum was made: blk-sha256/64k (NAME) =\n"
"      --no-names         print the sums alone\n"
"      --output FORM      human (default) or json, an object a line\n"
"  -z, --zero             end lines with NUL, and escape no names\n"
"  -h, --help             print this and exit\n"
"  -V, --version          print the version and exit\n"
"\n"
"Sizes take the suffixes k, m and g.  Exit status: 0 all well, 2 could not\n"
"tell (usage, open, read, lock).\n";

void
usage_print (void)
{
  fputs (usage_text, stdout);
}

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

/* Options take a unique beginning of their name. */
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
  if (!out || fclose (out) != 0)
    list = NULL;
  usage_error ("option '--%.*s' is ambiguous; possibilities:%s", len, name,
               list ? list : "");
}

void
usage_unknown_option (const struct option *options, const char *arg)
{
  const char *names[MAX_OPTIONS + 1] = { NULL }, *name, *meant;
  size_t i, count = 0, alike = 0;
  int len;

  for (i = 0; options[i].name && i < MAX_OPTIONS; i++) {
    names[count++] = options[i].name;
    if (optopt != 0 && optopt == options[i].val)
      usage_error ("option '--%s' takes no argument", options[i].name);
  }
  if (optopt != 0)
    usage_error ("invalid option '-%c'", optopt);

  name = strndup (arg + 2, strcspn (arg + 2, "="));
  if (!name)
    usage_error ("unrecognized option '%s'", arg);
  len = strlen (name);
  for (i = 0; i < count; i++)
    alike += strncmp (names[i], name, len) == 0;
  if (alike > 1)
    ambiguous_option (options, name, len);
  meant = nearest (name, names);
  usage_error ("unrecognized option '--%s'%s%s%s", name,
               meant ? " (did you mean '--" : "", meant ? meant : "",
               meant ? "'?)" : "");
}

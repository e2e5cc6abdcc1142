/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parses the arguments of the benchmark programs.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

void
die (int status, const char *fmt, ...)
{
  va_list args;

  fprintf (stderr, "%s: ", program);
  va_start (args, fmt);
  vfprintf (stderr, fmt, args);
  va_end (args);
  fputc ('\n', stderr);
  exit (status);
}

void
check (int err, const char *what)
{
  if (err)
    die (1, "%s: %s", what, strerror (err));
}

/* The number at the start of ARG; *END is the rest. */
static uint64_t
leading_number (const char *arg, char **end)
{
  uint64_t n;

  errno = 0;
  n = strtoull (arg, end, 10);
  if (!isdigit ((unsigned char) arg[0]) || errno)
    die (2, "'%s' is not a number", arg);
  return n;
}

uint64_t
size_arg (const char *arg)
{
  static const char suffixes[] = "kmgt";
  char *end;
  uint64_t n = leading_number (arg, &end);
  const char *suffix = NULL;
  unsigned shift;

  if (*end)
    suffix = strchr (suffixes, tolower ((unsigned char) *end));
  if (*end && (!suffix || end[1]))
    die (2, "'%s' is not a size", arg);
  shift = suffix ? 10 * (suffix - suffixes + 1) : 0;
  if (n > UINT64_MAX >> shift)
    die (2, "'%s' is too large", arg);
  return n << shift;
}

uint64_t
number_arg (const char *arg, uint64_t min, uint64_t max)
{
  char *end;
  uint64_t n = leading_number (arg, &end);

  if (*end || n < min || n > max)
    die (2, "'%s' is not a number from %" PRIu64 " to %" PRIu64, arg, min, max);
  return n;
}

double
seconds_arg (const char *arg)
{
  char *end;
  double n = strtod (arg, &end);

  if (end == arg || *end || !(n > 0 && n <= 1e9))
    die (2, "'%s' is not a number of seconds", arg);
  return n;
}

/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of blksum: getopt_long finds the options, and their rows
 * say what they mean.  No option has a name here.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "cli/option-table.h"
#include "cli/options.h"
#include "cli/usage.h"

/* getopt_long returns letters, and this and the index of the row for names. */
#define FIRST_NAME (CHAR_MAX + 1)

static int
compare_names (const void *a, const void *b)
{
  return strcmp (((const struct option *) a)->name,
                 ((const struct option *) b)->name);
}

/* What getopt_long takes, which is all zeros before.  NAMES are sorted, for
 * those who read them in messages.
 */
static void
fill_getopt (char *letters, struct option *names)
{
  const struct option_row *row = option_rows;
  size_t i;

  *letters++ = ':';             /* tell a missing argument from an unknown */
  for (i = 0; row[i].name; i++) {
    int argument = !row[i].arg ? no_argument :
      row[i].arg[0] == '[' ? optional_argument : required_argument;

    names[i] = (struct option) { row[i].name, argument, NULL, FIRST_NAME + i };
    if (row[i].letter)
      *letters++ = row[i].letter;
    if (row[i].letter && argument == required_argument)
      *letters++ = ':';
  }
  qsort (names, i, sizeof *names, compare_names);
}

static uint64_t
parse_number (const struct option_row *row, const char *arg)
{
  static const char units[] = "kmg";
  const char *unit;
  uint64_t value;
  char *end;

  errno = 0;
  value = strtoull (arg, &end, 10);
  if (!isdigit ((unsigned char) arg[0]) || errno != 0)
    usage_error ("--%s: invalid number '%s'", row->name, arg);
  if (row->is_size && *end) {
    unit = strchr (units, tolower ((unsigned char) *end));
    if (unit && end[1] == '\0') {
      unsigned shift = 10 * (unit - units + 1);

      if (value > UINT64_MAX >> shift)
        usage_error ("--%s: '%s' is too large", row->name, arg);
      value <<= shift;
      end++;
    }
  }
  if (*end)
    usage_error ("--%s: invalid %s '%s'", row->name,
                 row->is_size ? "size" : "number", arg);
  if (value < row->min || value > row->max)
    usage_error ("--%s: '%s' is not between %llu and %llu", row->name, arg,
                 (unsigned long long) row->min,
                 (unsigned long long) row->max);
  return value;
}

/* Of what getopt_long returned. */
static struct option_use
make_use (int c)
{
  const struct option_row *row = option_rows;

  if (c >= FIRST_NAME)
    row += c - FIRST_NAME;
  else
    while (row->letter != c)
      row++;
  return (struct option_use) {
    .row = row,
    .arg = optarg,
    .number = optarg && row->max > 0 ? parse_number (row, optarg) : 0,
    .by_letter = c < FIRST_NAME,
  };
}

static void
set_field (struct options *options, const struct option_use *use)
{
  void *field = (char *) options + use->row->field;
  uint64_t value = use->arg ? use->number : use->row->value;

  switch (use->row->type) {
  case FIELD_BOOL: *(bool *) field = value; break;
  case FIELD_STRING: *(const char **) field = use->arg; break;
  case FIELD_UNSIGNED: *(unsigned *) field = value; break;
  case FIELD_LONG: *(unsigned long *) field = value; break;
  }
}

static void
apply (struct options *options, const struct option_use *use)
{
  if (use->row->print) {
    use->row->print ();
    if (fflush (stdout) == EOF || ferror (stdout)) {
      perror ("blksum: write error"); /* it must have arrived */
      exit (EXIT_TROUBLE);
    }
    exit (EXIT_SUCCESS);
  }
  if (use->row->set)
    use->row->set (options, use);
  else
    set_field (options, use);
}

/* Is one of the options used that TEXT names, other than ROW? */
static bool
uses_one_of (const struct option_use *uses, const char *text,
             const struct option_row *row)
{
  size_t i, len;

  while ((text = strstr (text, "--"))) {
    text += 2;
    len = strspn (text, "abcdefghijklmnopqrstuvwxyz-");
    for (i = 0; option_rows[i].name; i++)
      if (uses[i].row && uses[i].row != row &&
          strncmp (uses[i].row->name, text, len) == 0 &&
          uses[i].row->name[len] == '\0')
        return true;
  }
  return false;
}

static void
check_together (const struct option_use *uses)
{
  const struct option_row *row;

  for (row = option_rows; row->name; row++) {
    const struct option_use *use = &uses[row - option_rows];

    if (!use->row)
      continue;
    if (row->needs && !uses_one_of (uses, row->needs, row))
      usage_error ("--%s needs %s", row->name, row->needs);
    if (row->excludes && uses_one_of (uses, row->excludes, row))
      usage_error (row->excludes, use->arg);
  }
  for (row = option_rows; row->name; row++)
    if (row->check && uses[row - option_rows].row)
      row->check (uses[row - option_rows].arg);
}

void
options_parse (struct options *options, int argc, char *argv[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  char letters[2 * MAX_OPTIONS + 2] = "";
  struct option names[MAX_OPTIONS + 1] = { { NULL } };
  struct option_use uses[MAX_OPTIONS] = { { NULL } };
  int c;

  option_defaults (options);
  options->source.objects = calloc (argc + 1, sizeof (char *));
  if (!options->source.objects) {
    perror ("blksum");
    exit (EXIT_TROUBLE);
  }
  fill_getopt (letters, names);
  opterr = 0;
  while ((c = getopt_long (argc, argv, letters, names, NULL)) != -1) {
    struct option_use use;

    if (c == ':')
      usage_error ("option '%s' needs an argument", argv[optind - 1]);
    if (c == '?')
      usage_unknown_option (names, argv[optind - 1]);
    use = make_use (c);
    apply (options, &use);
    uses[use.row - option_rows] = use;
  }
  check_together (uses);
  options->source.threads = blkhash_opts_get_threads (options->hash);

  options->operands = argv + optind;
  options->nr_operands = argc - optind;
  if (options->nr_operands == 0) {
    options->operands = standard_input;
    options->nr_operands = 1;
  }
}

void
options_free (struct options *options)
{
  blkhash_opts_free (options->hash);
  free (options->source.objects);
}
